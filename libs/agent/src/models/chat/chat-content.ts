import type { Part } from '@google/genai';
import type OpenAI from 'openai';

type UserPart = OpenAI.ChatCompletionContentPart;

/** Formats of sound that chat completions take, by type. */
const sounds: Record<string, 'wav' | 'mp3'> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
};

/** Converts a part of a user's message. @throws Error that names what chat completions do not take */
export function userPart(part: Part): UserPart[] {
  const { thought, text, inlineData, fileData } = part;
  if (thought) return [];
  if (inlineData?.data) return [filePart(inlineData.data, inlineData.mimeType ?? '', inlineData.displayName)];
  if (fileData?.fileUri) return [linkPart(fileData.fileUri, fileData.mimeType ?? '')];
  const words = text ?? codeText(part);
  return words ? [{ type: 'text', text: words }] : [];
}

function filePart(data: string, mimeType: string, filename = 'file'): UserPart {
  const [type = ''] = mimeType.toLowerCase().split(';');
  const format = sounds[type];
  if (type.startsWith('image/'))
    return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } };
  if (format) return { type: 'input_audio', input_audio: { data, format } };
  if (type === 'application/pdf')
    return { type: 'file', file: { filename, file_data: `data:${type};base64,${data}` } };
  if (type.startsWith('text/') || type === 'application/json')
    return { type: 'text', text: Buffer.from(data, 'base64').toString() };
  throw new Error(`files of type ${mimeType || '(none)'}`);
}

function linkPart(url: string, mimeType: string): UserPart {
  if (mimeType.startsWith('image/') && /^https?:/.test(url)) return { type: 'image_url', image_url: { url } };
  throw new Error(`the file ${url}: send its content as inlineData`);
}

/** Returns the text of a part of the model: chat completions take no files in its place. */
export function modelText(part: Part): string {
  const { thought, text, inlineData, fileData } = part;
  if (thought) return '';
  if (inlineData ?? fileData) return `[a file of type ${(inlineData ?? fileData)?.mimeType ?? 'unknown'}]`;
  return text ?? codeText(part);
}

/** Returns code and its result, which another model has made, as text. */
function codeText({ executableCode, codeExecutionResult }: Part): string {
  if (executableCode)
    return `\`\`\`${executableCode.language?.toLowerCase() ?? ''}\n${executableCode.code ?? ''}\n\`\`\``;
  return codeExecutionResult ? `\`\`\`\n${codeExecutionResult.output ?? ''}\n\`\`\`` : '';
}

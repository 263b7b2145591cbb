import type { Part } from '@google/genai';
import type OpenAI from 'openai';
import { inWords, typeFor } from '../../artifacts/readable-files.ts';

type UserPart = OpenAI.ChatCompletionContentPart;

/** Formats of sound that chat completions take, by type. */
const sounds: Record<string, 'wav' | 'mp3'> = { 'audio/wav': 'wav', 'audio/mpeg': 'mp3' };
const pictures = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** Tells whether chat completions take files of a type. */
export function isReadByChat(type: string): boolean {
  return pictures.has(type) || sounds[type] !== undefined || type === 'application/pdf';
}

/** Converts a part of a user's message, whose files are of types that {@link isReadByChat} knows. */
export function userPart(part: Part): UserPart[] {
  const { thought, text, inlineData, fileData } = part;
  if (thought) return [];
  if (inlineData?.data) return [filePart(inlineData.data, inlineData.mimeType ?? '', inlineData.displayName)];
  if (fileData?.fileUri) return [linkPart(part, fileData.fileUri, fileData.mimeType ?? '')];
  const words = text ?? codeText(part);
  return words ? [{ type: 'text', text: words }] : [];
}

function filePart(data: string, type: string, filename = 'file'): UserPart {
  const format = sounds[type];
  if (format) return { type: 'input_audio', input_audio: { data, format } };
  const url = `data:${type};base64,${data}`;
  return type === 'application/pdf'
    ? { type: 'file', file: { filename, file_data: url } }
    : { type: 'image_url', image_url: { url } };
}

function linkPart(part: Part, url: string, mimeType: string): UserPart {
  if (pictures.has(typeFor(mimeType, isReadByChat)) && /^https?:/.test(url))
    return { type: 'image_url', image_url: { url } };
  const { text = '' } = inWords(part, `at ${url}, which this model cannot open`);
  return { type: 'text', text };
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

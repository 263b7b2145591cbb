import type { Content, Part } from '@google/genai';

/** Other names of types that models know by one name. */
const sameTypes: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'audio/mp3': 'audio/mpeg',
  'audio/x-mp3': 'audio/mpeg',
  'audio/wave': 'audio/wav',
  'audio/x-wav': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'application/x-pdf': 'application/pdf',
};

/** Types of texts that have another name than `text/…`. */
const textType =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|csv|javascript|x-javascript|typescript|x-ndjson|jsonl|sql|x-sh|rtf)|.+\+(?:json|xml|yaml))$/;

/** Returns the type of a file without its parameters, under a name that the model reads, if there is one. */
export function typeFor(mimeType: string, reads: (type: string) => boolean): string {
  const type = mimeType.toLowerCase().split(';')[0]?.trim() ?? '';
  return reads(type) ? type : (sameTypes[type] ?? type);
}

/**
 * Returns contents with files that a model reads. A request with any other file would fail, and with it each later
 * turn of the session: a text goes as text, and for anything else stand its name, type and size.
 *
 * @param reads tells whether the model reads files of a type, which has no parameters
 */
export function withReadableFiles(contents: readonly Content[], reads: (type: string) => boolean): Content[] {
  return contents.map((content) => {
    const { parts = [] } = content;
    const readable = parts.map((part) => readableFile(part, reads));
    return readable.every((part, at) => part === parts[at]) ? content : { ...content, parts: readable };
  });
}

function readableFile(part: Part, reads: (type: string) => boolean): Part {
  const { inlineData: { data, mimeType = '' } = {} } = part;
  if (!data) return part;
  const type = typeFor(mimeType, reads);
  if (reads(type))
    return type === mimeType ? part : { ...part, inlineData: { ...part.inlineData, mimeType: type } };
  const text = textType.test(type) ? decode(data, mimeType) : undefined;
  return text === undefined ? inWords(part, 'which cannot be shown to this model') : { text };
}

/** Reads a text in its charset; undefined when there is no decoder for it. */
function decode(data: string, mimeType: string): string | undefined {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mimeType) ?? [];
  try {
    return new TextDecoder(charset).decode(Buffer.from(data, 'base64'));
  } catch {
    return undefined;
  }
}

/** Returns words in the place of a file. */
export function inWords({ inlineData, fileData }: Part, why: string): Part {
  const { displayName, mimeType } = inlineData ?? fileData ?? {};
  const name = displayName ? ` ${JSON.stringify(displayName)}` : '';
  const size = inlineData?.data ? ` and ${Buffer.byteLength(inlineData.data, 'base64')} bytes` : '';
  return { text: `[a file${name} of type ${mimeType || 'unknown'}${size}, ${why}]` };
}

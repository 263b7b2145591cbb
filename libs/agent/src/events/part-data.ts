import type { Part } from '@google/genai';

/** The fields of a part: true for those that hold data, false for those that describe it; of files the field that must be there. */
const fields: Record<Exclude<keyof Part, 'text'>, boolean | string> = {
  functionCall: true,
  functionResponse: true,
  executableCode: true,
  codeExecutionResult: true,
  toolCall: true,
  toolResponse: true,
  inlineData: 'data',
  fileData: 'fileUri',
  thought: false,
  thoughtSignature: false,
  partMetadata: false,
  videoMetadata: false,
  mediaResolution: false,
  mediaProcessing: false,
  speechMetadata: false,
  audioTranscription: false,
};
const dataFields = Object.entries(fields).filter(([, isData]) => isData);

/** Tells whether a part has data. Models refuse a conversation with a part without data. */
export function hasData(part: Part): boolean {
  if (typeof part.text === 'string' && part.text !== '') return true;
  return dataFields.some(([field, needed]) => {
    const value: unknown = Reflect.get(part, field);
    if (typeof value !== 'object' || value === null) return false;
    return typeof needed === 'string' ? Boolean(Reflect.get(value, needed)) : Object.keys(value).length > 0;
  });
}

/** Tells whether a part says something to its reader: it has data, and is neither a thought nor blank. */
export function saysSomething(part: Part): boolean {
  if (part.thought) return false;
  const { text, ...rest } = part;
  return (typeof text === 'string' && text.trim() !== '') || hasData(rest);
}

/**
 * Leaves out the parts without data. A signature in such a part moves to the part before it, or else to the
 * part after it, because the model needs it back. Returns the same list when all parts have data.
 */
export function withoutBareParts(parts: readonly Part[]): readonly Part[] {
  if (parts.every(hasData)) return parts;
  const kept: Part[] = [];
  let waiting: string | undefined;
  for (const part of parts) {
    const last = kept.at(-1);
    if (hasData(part)) {
      kept.push(waiting !== undefined && !part.thoughtSignature ? signed(part, waiting) : part);
      if (!part.thoughtSignature) waiting = undefined;
    } else if (part.thoughtSignature) {
      if (last && !last.thought && !last.thoughtSignature)
        kept[kept.length - 1] = signed(last, part.thoughtSignature);
      else waiting = part.thoughtSignature;
    }
  }
  const last = kept.at(-1);
  if (waiting !== undefined && last && !last.thoughtSignature) kept[kept.length - 1] = signed(last, waiting);
  return kept;
}

function signed(part: Part, thoughtSignature: string): Part {
  return { ...part, thoughtSignature };
}

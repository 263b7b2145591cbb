import type { Part } from '@google/genai';

/** Fields of a part that describe its data. A part with no other field has no data. */
const descriptions = new Set([
  ...['thought', 'thoughtSignature', 'partMetadata', 'videoMetadata', 'mediaResolution'],
]);

/** Tells whether a part has data. Models refuse a conversation with a part without data. */
export function hasData(part: Part): boolean {
  if (part.text) return true;
  return Object.entries(part).some(([key, value]) => {
    if (descriptions.has(key) || value === undefined || value === null || value === '') return false;
    return key !== 'inlineData' || Boolean(part.inlineData?.data);
  });
}

/** Tells whether a part says something to its reader: it has data, and is neither a thought nor blank. */
export function saysSomething(part: Part): boolean {
  if (part.thought || !hasData(part)) return false;
  const { text, ...rest } = part;
  return Boolean(text?.trim()) || hasData(rest);
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

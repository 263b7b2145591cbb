import type { Content } from '@google/genai';
import type { ScriptedError } from './gemini-reply.ts';
import { BadModelRequest } from './gemini-request.ts';

/** A client's request for vectors. */
export interface EmbedRequest {
  model: string;
  texts: string[];
  taskTypes: (string | undefined)[];
  dimensions: number;
}

export interface EmbedScript {
  /**
   * Lists of words with the same meaning. Texts with words of one list have similar vectors. Each other word
   * has its own meaning.
   */
  meanings?: string[][];
  /** Called for each request. An error that it returns becomes the answer. */
  fail?: (request: EmbedRequest) => ScriptedError | undefined;
}

interface EmbedBody {
  content?: Content;
  taskType?: string;
  outputDimensionality?: number;
}

/** Reads the JSON body of `embedContent`, or of `batchEmbedContents`. @throws BadModelRequest */
export function readEmbedRequest(text: string, model: string): EmbedRequest {
  const body = JSON.parse(text) as EmbedBody & { requests?: EmbedBody[] };
  const requests = body.requests ?? [body];
  const texts = requests.map(({ content }) => (content?.parts ?? []).map((part) => part.text ?? '').join(''));
  if (texts.length > 100)
    throw new BadModelRequest(
      '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch',
    );
  if (texts.includes('')) throw new BadModelRequest('* EmbedContentRequest.content: content is empty');
  return {
    model,
    texts,
    taskTypes: requests.map(({ taskType }) => taskType),
    dimensions: requests[0]?.outputDimensionality ?? 768,
  };
}

/**
 * Returns the same vector for the same text, and similar vectors for texts with common words. As with Gemini,
 * the length is not 1.
 */
export function vectorOf(text: string, dimensions: number, meanings: string[][] = []): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []) {
    const meaning = meanings.find((words) => words.includes(word))?.[0] ?? word;
    // Each meaning has its own direction, almost at right angles to all others.
    let seed = [...meaning].reduce(
      (hash, char) => Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619),
      2_166_136_261,
    );
    for (let at = 0; at < dimensions; at += 1) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
      vector[at] = (vector[at] ?? 0) + ((seed >>> 16) & 0x3f_ff) / 0x20_00 - 1;
    }
  }
  return vector.map((value) => (value === 0 ? 0.001 : value * 0.5));
}

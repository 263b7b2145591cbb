import { createHash } from 'node:crypto';
import { z } from 'zod';

/** The counts of a file after its first parts: all that a process needs to go on. */
export const tallySchema = z.object({
  parts: z.number().int().min(0),
  lines: z.number().int(),
  words: z.number().int(),
  /**
   * The digest of the previous digest and the last part: unlike the state of a hash function it can be handed
   * on.
   */
  digest: z.string(),
});
export type Tally = z.infer<typeof tallySchema>;

/** The counts before the first part. */
export const noTally: Tally = { parts: 0, lines: 0, words: 0, digest: '' };

/** Counts one more part of a file. A part ends with a whole line. */
export function addPart({ parts, lines, words, digest }: Tally, text: string): Tally {
  return {
    parts: parts + 1,
    lines: lines + text.split('\n').length - 1,
    words: words + (text.match(/\S+/g)?.length ?? 0),
    digest: createHash('sha256').update(digest).update(text).digest('hex'),
  };
}

/** A subject of NATS in its tokens, or a pattern: `*` is any token, `>` is all that follow. */
export type Tokens = readonly string[];

export const tokensOf = (subject: string): Tokens => subject.split('.');

/** Tells whether a subject is one of a pattern. Both are split once, since thousands are compared. */
export function isOfPattern(pattern: Tokens, subject: Tokens): boolean {
  for (let at = 0; at < pattern.length; at += 1) {
    const token = pattern[at];
    if (token === '>') return subject.length > at;
    if (at >= subject.length || (token !== '*' && token !== subject[at])) return false;
  }
  return pattern.length === subject.length;
}

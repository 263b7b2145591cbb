/**
 * Tells whether a subject matches a pattern, by the rules of NATS: `*` is one token, `>` one or more at the
 * end.
 */
export function subjectMatches(pattern: string, subject: string): boolean {
  if (pattern === subject) return true;
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  for (const [at, want] of wanted.entries()) {
    if (want === '>') return tokens.length > at;
    if (at >= tokens.length || (want !== '*' && want !== tokens[at])) return false;
  }
  return wanted.length === tokens.length;
}

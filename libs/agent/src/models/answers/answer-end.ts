/**
 * The end of a streamed answer. A server that gives a finish reason with each piece proves no end by it: data behind a
 * reason takes it back.
 */
export class AnswerEnd {
  /** Tells whether the last data came before a finish reason, or with one. */
  hasCome = false;
  /** Tells whether a finish reason came behind all data, so that a failure of the connection cannot make the answer half. */
  isProven = false;

  /** Notes a piece of the answer. */
  note(hasReason: boolean, hasData: boolean): void {
    if (!hasReason && !hasData) return;
    this.hasCome = hasReason;
    this.isProven = hasReason && !hasData;
  }
}

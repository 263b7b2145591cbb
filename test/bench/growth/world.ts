/** Where turns are measured. */
export interface World {
  name: string;
  /** Takes seconds for a turn of a long session: it is measured less often. */
  isSlow: boolean;
  /** Makes a session with so many past events. Returns its id. */
  makeSession(past: number): Promise<string>;
  /** Does a turn with one tool call. Returns how long it took, ms. */
  turn(sessionId: string): Promise<number>;
}

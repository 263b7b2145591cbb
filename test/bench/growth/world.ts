/** A place where turns are measured. */
export interface World {
  name: string;
  /** Tells whether a turn of a long session takes seconds; such a world is measured less often. */
  isSlow: boolean;
  /** Makes a session with the given number of past events. Returns its id. */
  makeSession(past: number): Promise<string>;
  /** Runs a turn with one tool call. Returns its time in ms. */
  turn(sessionId: string): Promise<number>;
}

import type { DeadLetter } from '@agentmesh/protocol';

/** A dead letter with its number in the stream. */
export interface StoredDeadLetter {
  seq: number;
  letter: DeadLetter;
}

/** The dead letters of a mesh, for an operator to look at and to remove. */
export interface DeadLetters extends AsyncDisposable {
  /** Lists the letters after `afterSeq`, oldest first, `limit` at most (default 50). */
  list(options?: { afterSeq?: number; limit?: number }): Promise<StoredDeadLetter[]>;
  /** Returns the number of all letters. */
  count(): Promise<number>;
  /** Returns the letter with this number. @throws MeshError `not_found` */
  get(seq: number): Promise<StoredDeadLetter>;
  /** Removes the letter with this number. @throws MeshError `not_found` */
  remove(seq: number): Promise<void>;
}

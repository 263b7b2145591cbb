import type { DeadLetter, ServiceKind } from '@agentmesh/protocol';

/** The writer of a dead letter, whom the server knows: a service writes under its own name only. */
export interface LetterWriter {
  kind: ServiceKind | 'operator';
  /** The name of the agent or tool. For a letter of the operator: the name of the service that took nothing. */
  name: string;
}

/** A dead letter with its number in the stream. */
export interface StoredDeadLetter {
  seq: number;
  writer: LetterWriter;
  /**
   * True when the message of the letter is of no queue of the writer. No service writes such a letter about its
   * own work, so the writer may have made it up.
   */
  isForeign: boolean;
  /** The letter, as its writer wrote it. */
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

import type { OpKind } from '../model.ts';

/** A step of a client. `atMs` is the time after the beginning of its burst, in ms. */
interface Timed {
  atMs: number;
}

/**
 * The way in which a client reads the events: without a pause; slowly; or it leaves after the first events and
 * comes back to another gateway.
 */
export type Reading = 'steady' | 'slow' | 'leaves';

/** A message to the session. */
export interface Say extends Timed {
  do: 'say';
  /** The name of the step; no other message has it. */
  id: string;
  kind: OpKind;
  via: 'http' | 'nats';
  whenBusy: 'enqueue' | 'reject' | 'interrupt';
  reads: Reading;
  /** The time limit of the run, in ms; only over NATS. */
  deadlineMs?: number;
  /** The number of bytes by which the message is longer. */
  padBytes?: number;
  stateDelta?: Record<string, unknown>;
}

/** The answer to the confirmation for which a message led to a question, over HTTP. */
export interface Answer extends Timed {
  do: 'answer';
  id: string;
  to: string;
  confirmed: boolean;
}

/** The outcome of the ticket that a message has opened, over NATS. */
export interface Outcome extends Timed {
  do: 'outcome';
  id: string;
  to: string;
  /** The number of publications of the same outcome. */
  times: 1 | 2;
}

/** The cancellation of a message's run: some time after its acceptance, or at a certain event. */
export interface Cancel extends Timed {
  do: 'cancel';
  of: string;
  when: 'accepted' | 'call' | 'first-word' | 'last-word';
}

/** The deletion of the session. With `again`, the session is made again under its id. */
export interface Delete extends Timed {
  do: 'delete';
  again: boolean;
}

/** A copy of the session. With `goOn`, the next steps work in the copy. */
export interface Fork extends Timed {
  do: 'fork';
  goOn: boolean;
}

/** The return of the session to its state before a message. */
export interface Rewind extends Timed {
  do: 'rewind';
  before: string;
}

/** The upload of a file. */
export interface Upload extends Timed {
  do: 'upload';
  id: string;
  bytes: number;
}

export type Step = Say | Answer | Outcome | Cancel | Delete | Fork | Rewind | Upload;

/**
 * The work of one client in one session: bursts of steps. The steps of a burst begin at their times, and the next
 * burst begins when all of them have ended.
 */
export interface Visit {
  user: string;
  bursts: Step[][];
}

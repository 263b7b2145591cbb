import type { SessionRef } from '@agentmesh/protocol';
import type { InvocationRef } from './invocations.ts';

/** The choice of a run when another invocation has the session: wait in order, give up, or have the other one cancelled and be the next. */
export type WhenBusy = 'enqueue' | 'reject' | 'interrupt';

/** The answer to a delivery of a run that wants to begin. */
export type TakenSession =
  | {
      /** The invocation has the session, and this delivery the invocation. */
      state: 'held';
      /** Commits bear it; 1 at first, one more with each taking of the invocation. */
      token: number;
      /** How many deliveries in a row have taken the invocation, this one counted, and neither committed anything nor given it back. */
      begun: number;
      /** Why somebody wants it to end. */
      cancelled?: string;
    }
  | {
      /** Another invocation has the session, or is before this one in the queue. */
      state: 'busy';
      /** The invocation that has the session; absent when the queue's first one has not come yet. */
      holder?: string;
    }
  /** Another message that brings the same part of the invocation is at work on it, and gives signs of life. */
  | { state: 'duplicate' }
  | { state: 'ended' }
  /** There is no such session. */
  | { state: 'gone' };

/** The message that a delivery brings: `part` names what of the invocation it begins, such as `hop:0`; `message` is the same each time it is delivered. */
export interface Delivery {
  part: string;
  message: string;
}

export interface TakeOptions {
  /** The run to publish when it is its turn. */
  run: string;
  whenBusy: WhenBusy;
  /** Default one minute. */
  leaseMs?: number;
  /** Absent where no message brought the run. */
  delivery?: Delivery;
}

/**
 * One writer per session: an invocation has the session from its first taking to its end, over all its deliveries and hops; others wait in a
 * queue of the session, in order, without a process that would have to wait.
 *
 * The token is fencing as in Kleppmann's "How to do distributed locking": a queue that delivers a run again cannot know whether its first
 * holder still works, and acks do not stop it; what all writes pass through, the store, does.
 */
export interface SessionLeases {
  /**
   * Takes the session for an invocation, or takes the invocation over from an earlier delivery, whose token then commits nothing more. When the
   * session is busy, `run` is kept in its queue, first for `interrupt`; with `reject` nothing is. A second call for one that waits keeps its
   * place, and takes the newer `run`. Each run of an invocation has a place of its own: one that continues it (`ref.resume`) waits for the session as
   * another invocation would, has an end of its own, and when it gets the session the invocation is at work again. A session whose holder gave no sign of life for `leaseMs` is free: its invocation must then wait its turn like all others.
   *
   * A run that was published twice is two messages. While the one that took the invocation gives signs of life, the other one is a `duplicate`: it
   * takes nothing over, and counts as no death.
   */
  take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession>;

  /**
   * Renews the holder's lease. Returns why the invocation shall end, if somebody wants it to.
   *
   * @throws MeshError `aborted` when another delivery or invocation has taken over
   */
  renew(ref: InvocationRef, token: number, leaseMs?: number): Promise<{ cancelled?: string }>;

  /** Ends a delivery that has no result and did not die: it does not count as begun. The session stays with the invocation. */
  giveBack(ref: InvocationRef, token: number): Promise<void>;

  /** Reads the run whose turn it is, as it was given to `take`; undefined when an invocation has the session or none waits. Takes nothing. */
  nextRun(ref: SessionRef): Promise<string | undefined>;

  /**
   * Gives the session to the invocation whose run was published; its place in the queue is free. Nothing changes when another one has the
   * session, or when it was not the first in the queue.
   */
  promote(ref: InvocationRef, leaseMs?: number): Promise<void>;

  /** Lists sessions in which runs wait, those that were looked at longest ago first: it finds the runs that a crash left waiting. */
  waitingSessions(limit: number): Promise<SessionRef[]>;
}

export const defaultLeaseMs = 60_000;

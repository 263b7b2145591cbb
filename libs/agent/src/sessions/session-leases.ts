import type { SessionRef } from '@agentmesh/protocol';
import type { InvocationRef } from './invocations.ts';

/**
 * Choices for a run while another invocation has the session: wait in order, give up, or have the other
 * invocation cancelled and be the next.
 */
export type WhenBusy = 'enqueue' | 'reject' | 'interrupt';

/** The result of `take` for a delivery of a run. */
export type TakenSession =
  | {
      /** The invocation has the session, and this delivery has the invocation. */
      state: 'held';
      /**
       * The fencing token for commits; 1 at first, one more with each successful `take` of the invocation.
       */
      token: number;
      /**
       * Number of consecutive deliveries, including this one, that have taken the invocation without
       * committing anything or giving it back.
       */
      begun: number;
      /** Reason of a cancellation. */
      cancelled?: string;
    }
  | {
      /** Another invocation has the session, or is before this invocation in the queue. */
      state: 'busy';
      /**
       * The invocation that has the session; absent when the first invocation of the queue has not taken the
       * session yet.
       */
      holder?: string;
    }
  /** Another message for the same part of the invocation is being worked on, and its lease is renewed. */
  | { state: 'duplicate' }
  | { state: 'ended' }
  /** The session does not exist. */
  | { state: 'gone' };

/**
 * The message of a delivery. `part` names the part of the invocation that it begins, such as `hop:0`;
 * `message` is the same with each delivery.
 */
export interface Delivery {
  part: string;
  message: string;
}

export interface TakeOptions {
  /** The run as text; it is published when it is the next in the session's queue. */
  run: string;
  whenBusy: WhenBusy;
  /** Default one minute. */
  leaseMs?: number;
  /** Absent when no message brought the run. */
  delivery?: Delivery;
}

/**
 * The right to write a session, for one invocation at a time. An invocation has the session from its first
 * `take` to its end, over all its deliveries and hops. Others wait in order in a queue of the session, and no
 * process has to wait with them.
 *
 * The token is a fencing token as in Kleppmann's "How to do distributed locking": a queue that delivers a run
 * again cannot know whether the first holder still works, and acknowledgements do not stop that holder. The
 * store stops it, because all writes pass through the store.
 */
export interface SessionLeases {
  /**
   * Takes the session for an invocation, or takes the invocation over from an earlier delivery, whose token
   * then commits nothing more. When the session is busy, `run` goes into the session's queue (to the front
   * for `interrupt`, not at all for `reject`). A second call for a waiting run keeps its place and stores the
   * newer `run`. Each run of an invocation has a separate place: a run that continues the invocation
   * (`ref.resume`) waits for the session like another invocation, and has a separate end. When that run gets
   * the session, the invocation is running again. A session whose holder did not renew its lease for
   * `leaseMs` is free: the invocation of that holder must then wait in order like all others.
   *
   * A run that was published twice has two messages. While the holder for one message renews its lease, the
   * other message is a `duplicate`: it takes nothing over, and does not count as a death.
   */
  take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession>;

  /**
   * Renews the holder's lease. Returns the reason when the invocation is cancelled.
   *
   * @throws MeshError `aborted` when another delivery or invocation has taken over
   */
  renew(ref: InvocationRef, token: number, leaseMs?: number): Promise<{ cancelled?: string }>;

  /**
   * Ends a delivery without a result, although its process is alive, so it does not count in `begun`. The
   * session stays with the invocation.
   */
  giveBack(ref: InvocationRef, token: number): Promise<void>;

  /**
   * Returns the next run of the session's queue, as `take` received it; undefined when an invocation has the
   * session, or no run waits. Takes nothing.
   */
  nextRun(ref: SessionRef): Promise<string | undefined>;

  /**
   * Gives the session to the invocation whose run was published, and removes the run from the queue. Changes
   * nothing when another invocation has the session, or when the run was not the first in the queue.
   */
  promote(ref: InvocationRef, leaseMs?: number): Promise<void>;

  /**
   * Lists sessions with waiting runs, the least recently checked first. This finds the runs that wait after a
   * crash.
   */
  waitingSessions(limit: number): Promise<SessionRef[]>;
}

export const defaultLeaseMs = 60_000;

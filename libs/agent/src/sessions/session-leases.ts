import type { Event, SessionRef } from '@agentmesh/protocol';
import type { InvocationRecord, InvocationRef, RunEnd } from './invocations.ts';
import type { UserOwner } from './user-records.ts';

/**
 * Choices for a run while another invocation has the session: wait in order, give up, or have the other
 * invocation cancelled and be the next.
 */
export type WhenBusy = 'enqueue' | 'reject' | 'interrupt';

/** A session that a delivery of a run has. */
export interface HeldSession {
  /** The invocation has the session, and this delivery has the invocation. */
  state: 'held';
  /**
   * The fencing token for commits; 1 at first, one more with each successful `take` of the invocation.
   */
  token: number;
  /**
   * Number of consecutive deliveries, including this one, that have taken the invocation without
   * committing anything but its message, or giving it back.
   */
  begun: number;
  /** Number of the last event of the session. Only this delivery can now commit for a run. */
  seq: number;
  /** The session, among all of its id: see {@link TurnSession}. */
  incarnation: string;
  /**
   * Number of attempts at the part that the delivery names, including this one; 1 if no message brought
   * the run.
   */
  attempt: number;
  /** The record of the invocation, which now has this run. */
  record: InvocationRecord;
  /** The entry of the session in the list of busy sessions: see {@link SessionLeases.noteIdle}. */
  mark: string;
  /** The first event of the invocation as it is stored, if the store has committed it with the taking. */
  committed?: { seq: number; event: Event };
  /** Reason of a cancellation. */
  cancelled?: string;
}

/** The result of `take` for a delivery of a run. */
export type TakenSession =
  | HeldSession
  /** A run with `onlyNew` has been taken before. Nothing has changed. */
  | { state: 'begun' }
  | {
      /** Another invocation has the session, or an earlier one must have it first. */
      state: 'busy';
      /** The invocation that has the session; absent when no invocation has it. */
      holder?: string;
      /** True when no invocation has the session and the user has the full share of running runs. */
      isFull?: true;
      /** True for a run with `reject` that does not wait, because another run comes before it in the session. */
      isRejected?: true;
    }
  /** The user has too many waiting runs; the end of this run is recorded. */
  | { state: 'refused' }
  /** A run with `onlyWaits` could have the session. */
  | { state: 'free' }
  /** Another message for the same part of the invocation is being worked on, and its lease is renewed. */
  | { state: 'duplicate' }
  | { state: 'ended' }
  /** A run of another session has the id of the invocation. */
  | { state: 'elsewhere' }
  /** The session does not exist, or it is another session under the same id. */
  | { state: 'gone' };

/**
 * The message of a delivery. `part` names the part of the invocation that it begins, such as `hop:0`;
 * `message` is the same with each delivery.
 */
export interface Delivery {
  part: string;
  message: string;
}

/** The limits for the runs of one user in one app. */
export interface UserLimits {
  /** Number of runs that may be at work. A further run waits, although its session is free. */
  running: number;
  /** Number of runs that may wait. A further run ends at once; default any number. */
  waiting?: { most: number; refusal: RunEnd };
}

export interface TakeOptions {
  /**
   * The run as text; it is published when it is the next in the session's queue, and again when its holder is
   * silent. '' for work that no message can bring again: it cannot wait, and ends when its holder is silent.
   */
  run: string;
  whenBusy: WhenBusy;
  /**
   * The end of a run that is rejected. It is recorded in the step that finds the session busy, because another
   * delivery may find the session free a moment later.
   */
  rejection?: RunEnd | undefined;
  /** Time without a renewal after which the holder counts as silent; default 30 s. */
  leaseMs?: number;
  /**
   * Place of the run in the order of acceptance; the place of the first message that brought the run counts.
   * Default: behind all waiting runs.
   */
  place?: number;
  /** The agent whose service takes the session; see {@link SessionWork}. */
  agent?: string;
  /** Place of an earlier run of the session that has not arrived yet. The session is then busy. */
  earlier?: number | undefined;
  /** The session for which the run was accepted; default any session of this id. */
  incarnation?: string | undefined;
  /** Absent when no message brought the run. */
  delivery?: Delivery;
  /**
   * The limits for the user. A run that continues an invocation, or has begun, counts and does not wait. Absent
   * for work that neither counts nor waits.
   */
  limits?: UserLimits | undefined;
  /** True for a run that must not begin now: it gets `free` when it could have the session. */
  onlyWaits?: boolean;
  /**
   * True for a caller that has not looked at the invocation: it takes nothing over, and gets `begun` when the
   * invocation had a session before.
   */
  onlyNew?: boolean;
  /**
   * The user's message. A store may commit it in the step that gives the session to an invocation that never had one;
   * it says so in `committed`. The event changes no state, and opens and closes no call.
   */
  first?: Event | undefined;
}

/** A run whose turn it is. */
export interface NextRun {
  sessionId: string;
  /** The run as `take` received it last. */
  run: string;
}

export interface NextRunOptions {
  /** Number of runs of the user that may be at work; default any number. */
  running?: number;
  /** Number of ready sessions to pass over, because their runs cannot be published; default 0. */
  skip?: number;
}

export interface PromoteOptions {
  /** The run as it was published; default as it waits now. */
  run?: string;
  /** As in {@link NextRunOptions}. */
  running?: number;
  leaseMs?: number;
}

/** A holder that has given no sign of life for longer than its lease. */
export interface SilentHolder {
  invocationId: string;
  resume?: string | undefined;
  /** The run as `take` received it last; '' for work that no message can bring again. */
  run: string;
  /** Number of times that its run was asked for since its last sign of life. */
  asked: number;
}

/** The view of a session that a client has before it gives a run to the session. */
export interface SessionView {
  /** Number of the last event. */
  seq: number;
  /** Distinguishes the session from later ones with the same id. */
  incarnation: string;
  /** The number of runs of the user that wait, in all sessions. */
  waiting: number;
}

/**
 * The right to write a session, for one invocation at a time. An invocation has the session from its first
 * `take` to its end, over all its deliveries and hops, however long that takes: no clock takes the session
 * from it. Others wait in the order of acceptance in a queue of the session, and no process has to wait with
 * them.
 *
 * The lease says only whether the holder has given a sign of life. While it has not, another process may ask
 * the queue to deliver the holder's run again ({@link SessionLeases.findSilent}). What frees a session is the
 * end of the run, its deletion, or {@link SessionLeases.abandon}.
 *
 * The token is a fencing token as in Kleppmann's "How to do distributed locking": a queue that delivers a run
 * again cannot know whether the first holder still works, and acknowledgements do not stop that holder. The
 * store stops it, because all writes pass through the store.
 */
export interface SessionLeases {
  /**
   * Takes the session for an invocation, or takes the invocation over from an earlier delivery, whose token
   * then commits nothing more. When the session is busy, `run` goes into the session's queue at its place (to
   * the front for `interrupt`, not at all for `reject`). A second call for a waiting run keeps its place and
   * stores the newer `run`. Each run of an invocation has a separate place: a run that continues the
   * invocation (`ref.resume`) waits for the session like another invocation, and has a separate end. When
   * that run gets the session, the invocation is running again. A run that has not begun gives the session
   * back when an earlier run is found.
   *
   * A run that was published twice has two messages. While the holder for one message renews its lease, the
   * other message is a `duplicate`: it takes nothing over, and does not count as a death.
   */
  take(ref: InvocationRef, options: TakeOptions): Promise<TakenSession>;

  /**
   * Renews the holder's lease. Returns the reason when the invocation is cancelled.
   *
   * @throws MeshError `aborted` when another delivery has taken over, or the run has ended
   */
  renew(ref: InvocationRef, token: number, leaseMs?: number): Promise<{ cancelled?: string }>;

  /**
   * Ends a delivery without a result, although its process is alive, so it does not count in `begun`. The
   * session stays with the invocation.
   */
  giveBack(ref: InvocationRef, token: number): Promise<void>;

  /**
   * Returns the run of the user whose turn it is: the first in the queue of a session that no invocation has,
   * and of several such sessions the one that was accepted first. Undefined when no run waits for a free
   * session, or when the user has the full share of running runs. Takes nothing. Of a session that is gone it
   * returns the waiting runs at once, so that each can end.
   *
   * @param from a session that may have become free, or the user
   */
  nextRun(from: SessionRef | UserOwner, options?: NextRunOptions): Promise<NextRun | undefined>;

  /**
   * Gives the session to the invocation whose run was published, and removes the run from the queue. Changes
   * nothing when another invocation has the session, when the run was not the first in the queue, when it was
   * stored anew meanwhile, or when the user has the full share. Returns true when a further run of the user may
   * begin.
   */
  promote(ref: InvocationRef, options?: PromoteOptions): Promise<boolean>;

  /**
   * Takes an idle session off the list of busy sessions, unless another process has noted or checked it since
   * `take` returned the mark. May be left out: the next search finds that the session is idle.
   */
  noteIdle(ref: SessionRef, mark: string): Promise<void>;

  /** Looks at a session before a run is given to it. Returns undefined for a session that does not exist. */
  look(ref: SessionRef): Promise<SessionView | undefined>;

  /** Counts the runs of the user that wait, in all sessions. */
  countWaiting(user: UserOwner): Promise<number>;

  /**
   * Removes a run that has ended from its session and from the session's queue. A run of a deleted session may
   * still wait there, or get a session that was made anew. Changes nothing for other runs.
   */
  leave(ref: InvocationRef): Promise<void>;

  /** Returns the holder of a session if it is silent. Changes nothing. */
  findSilent(ref: SessionRef): Promise<SilentHolder | undefined>;

  /**
   * Records that the run of a silent holder is asked for. The holder is silent again after `leaseMs`, twice
   * as long with each further time. Returns false when the holder is not silent any more.
   */
  noteAsked(ref: InvocationRef, leaseMs?: number): Promise<boolean>;

  /**
   * Ends the work of a holder that no message can bring again, and that is silent though it was asked for.
   * Frees the session; the first end of the run stays. Returns false for any other holder.
   */
  abandon(ref: InvocationRef, end: RunEnd): Promise<boolean>;

  /**
   * Lists the sessions of an app that a run has, or for which a run waits; the least recently checked first. After a
   * crash this finds the runs that wait, and those whose process or command is gone.
   */
  busySessions(app: string, limit: number): Promise<SessionRef[]>;

  /** Lists the users of an app who may have runs that wait for a share; the least recently checked first. */
  busyUsers(app: string, limit: number): Promise<UserOwner[]>;
}

export const defaultLeaseMs = 30_000;

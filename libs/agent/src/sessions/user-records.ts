import type { SessionRef } from '@agentmesh/protocol';
import type { InvocationRef } from './invocations.ts';

/** One user of one app. */
export interface UserOwner {
  appName: string;
  userId: string;
}

/** A session without its events. */
export interface KeptSession {
  sessionId: string;
  /** True for the session of an agent that is used as a tool. */
  hidden: boolean;
  /** In epoch ms. */
  created: number;
  /** Time of the last committed event, epoch ms. */
  updated: number;
  /** Number of the last event. */
  seq: number;
  /** The session's own state; keys without prefix. */
  state: Record<string, unknown>;
  /** The session's own initial state. */
  initialState: Record<string, unknown>;
}

/** The numbers of deleted records. */
export interface DeletedRecords {
  /** Keys of `user:` state. */
  stateKeys: number;
  /** Pending calls in sessions that were deleted earlier. */
  pending: number;
  /** Records of invocations, and sign-ins, of sessions that were deleted earlier. */
  others: number;
}

/** The records of a user beside the sessions, for an export or a deletion. */
export interface UserRecords {
  /** Lists the ids of all sessions, including child sessions and sessions whose deletion was interrupted. */
  sessionIds(user: UserOwner): Promise<string[]>;
  /** Reads a session without its events. Returns undefined for a session that is gone or being deleted. */
  readSession(ref: SessionRef): Promise<KeptSession | undefined>;
  /** Tells whether a session exists: false also for a session that is being deleted. */
  hasSession(ref: SessionRef): Promise<boolean>;
  /** Lists the runs that have the session or wait for it. */
  runsIn(ref: SessionRef): Promise<InvocationRef[]>;
  /** Reads the `user:` state, with the prefix in the keys. */
  readState(user: UserOwner): Promise<Record<string, unknown>>;
  /** Deletes the queue of runs for a session that is gone, because nobody else will. */
  forgetQueue(ref: SessionRef): Promise<void>;
  /**
   * Deletes everything except the sessions. `app:` state that the user wrote stays; it does not show who
   * wrote it.
   */
  deleteRest(user: UserOwner): Promise<DeletedRecords>;
}

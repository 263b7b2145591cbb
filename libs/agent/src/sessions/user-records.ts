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
  /** Of an agent used as a tool. */
  hidden: boolean;
  /** Epoch ms. */
  created: number;
  /** Epoch ms of the last committed event. */
  updated: number;
  /** Number of the last event. */
  seq: number;
  /** Its own, keys without prefix. */
  state: Record<string, unknown>;
  /** What it was created with, of its own. */
  initialState: Record<string, unknown>;
}

/** The counts of what the deletion of a user's records removed. */
export interface DeletedRecords {
  /** Keys of `user:` state. */
  stateKeys: number;
  /** Calls that waited for an answer in sessions that had gone before. */
  pending: number;
  /** Records of invocations, and sign-ins, of sessions that had gone before. */
  others: number;
}

/** The records of a user beside the sessions: for those who hand them over, or delete them. */
export interface UserRecords {
  /** Lists the ids of all sessions, hidden ones and those whose deletion was cut short among them. */
  sessionIds(user: UserOwner): Promise<string[]>;
  /** Reads a session without its events. Undefined for one that is gone, or being deleted. */
  readSession(ref: SessionRef): Promise<KeptSession | undefined>;
  /** Lists the runs that have the session or wait for it. */
  runsIn(ref: SessionRef): Promise<InvocationRef[]>;
  /** Reads `user:` state, keys with their prefix. */
  readState(user: UserOwner): Promise<Record<string, unknown>>;
  /** Forgets the runs that waited for a session that is gone: nobody will tell them. */
  forgetQueue(ref: SessionRef): Promise<void>;
  /** Removes all but the sessions. `app:` state that the user wrote stays, and does not tell who wrote it. */
  deleteRest(user: UserOwner): Promise<DeletedRecords>;
}

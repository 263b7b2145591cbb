import type { SessionRef } from '@agentmesh/protocol';
import type { UserOwner } from './user-records.ts';

/** A run of an app, as the list of recent runs has it. */
export interface RecentRun extends SessionRef {
  invocationId: string;
  /** The agent to which the run came first; absent when it did not say its name. */
  agent?: string;
  /** The time at which a replica first took the invocation, or its last continuation, or had it wait; epoch ms. */
  since: number;
}

export interface RecentRunsPage {
  /** The largest number of runs. */
  limit: number;
  /** Only runs before this time, epoch ms: `since` of the last run of the page before. */
  before?: number | undefined;
}

/**
 * The lists over all users of an app, for operators. They are bounded and may lose an entry in a crash: the log of a
 * session is the record, and these lists only lead to it.
 */
export interface Overview {
  /** Lists the newest {@link mostRecentRuns} runs of an app, newest first. Runs of deleted sessions are not listed. */
  recentRuns(app: string, page: RecentRunsPage): Promise<RecentRun[]>;

  /** Finds one of these runs by the id of its invocation. */
  findRun(app: string, invocationId: string): Promise<RecentRun | undefined>;

  /** Lists users of an app who have pending calls, those with the newest first. */
  waitingUsers(app: string, limit: number): Promise<UserOwner[]>;
}

/** The number of runs of an app that the list of recent runs keeps. */
export const mostRecentRuns = 1_000;

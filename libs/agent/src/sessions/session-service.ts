import type { Event, SessionRef } from '@agentmesh/protocol';
import type { Attempt, CallCount, EndingCommit, Invocations } from './invocations.ts';
import type { Overview } from './overview.ts';
import type { PendingCalls } from './pending-calls.ts';
import type { Session } from './session.ts';
import type { SessionLeases } from './session-leases.ts';
import type { ListSessionsRequest, ListSessionsResponse } from './session-list.ts';
import type { SessionLog, StoredEvent } from './session-log.ts';
import type { UserRecords } from './user-records.ts';

/** A selection of a session's events: the last N of the events that pass all conditions. */
export interface GetSessionConfig {
  /** Only the last N events; 0 for none. */
  numRecentEvents?: number;
  /** Only events at or after this time, epoch ms. */
  afterTimestamp?: number;
  /**
   * Only events with a greater number in the session, for a reader that has the earlier events. The cost
   * depends on the result.
   */
  afterSeq?: number;
}

export interface DeleteSessionOptions {
  /**
   * Called with each page of the log before it is deleted, also for child sessions, and with an empty page at
   * the end of each log: for a caller that stores data about the events elsewhere. A deletion that continues
   * an interrupted deletion calls it with the same pages again.
   */
  onEvents?: (ref: SessionRef, page: readonly StoredEvent[]) => Promise<void>;
  /** Called with the number of deleted things other than events. */
  onDeleted?: (what: 'artifacts' | 'callResults', count: number) => void;
}

export interface CreateSessionRequest {
  appName: string;
  userId: string;
  state?: Record<string, unknown>;
  sessionId?: string;
  /** True for an id that was never used before: nothing can be left of an earlier session of this id. */
  isNewId?: boolean;
  /** True for the session of an agent that is used as a tool: it is not listed. */
  hidden?: boolean;
  /** True for a session whose history follows: a store deletes it an hour later unless the last part has come. */
  isUnfinished?: boolean;
}

export interface GetSessionRequest extends SessionRef {
  config?: GetSessionConfig;
}

/** Names a session; ADK's name is `CompositeSessionKey`. */
export type DeleteSessionRequest = SessionRef;

export interface AppendEventRequest {
  session: Session;
  event: Event;
  /** The fencing token of the run's lease; an old token is refused. */
  token?: number;
  /** The attempt that made the event; an attempt that is not the newest at its part is refused. */
  attempt?: Attempt;
  /** True when the invocation may have ended long ago: it does not become a running invocation again. */
  aside?: boolean;
  /** Id of a call that must still be pending. */
  whileOpen?: string;
  /** Model calls that are counted in the same step; the store brings the numbers up to date. */
  calls?: CallCount;
  /** The end of a run of the event's invocation, whose last event this is; the store says what follows. */
  end?: EndingCommit;
}

/**
 * A store of sessions. Its methods have the names of ADK's service; all else is in separate contracts: `log`,
 * `leases`, `invocations`, `pending`, `users`
 * and `overview`. One conformance suite (`@agentmesh/agent/conformance`) has
 * two implementations: in memory here, on Redis in `@agentmesh/store`.
 *
 * State scopes: all sessions of the app share the `app:` keys, all sessions of a user in the app share the
 * `user:` keys. Keys without prefix belong to the session. `temp:` keys belong to the invocation and are
 * never in a session's stored state or in a stored event.
 */
export interface SessionService {
  /** The events of a session by their numbers. */
  readonly log: SessionLog;

  /** The right to write a session, and the queue of runs that wait for it. */
  readonly leases: SessionLeases;

  /** The records of invocations. */
  readonly invocations: Invocations;

  /** The pending calls. They change in the same step as the events that ask and answer. */
  readonly pending: PendingCalls;

  /** The records of a user over all sessions. */
  readonly users: UserRecords;

  /** The lists over all users of an app. */
  readonly overview: Overview;

  /**
   * Creates a session; the default id is a new UUID. `app:` and `user:` keys of `state` go to their scopes,
   * `temp:` keys are dropped. `hidden` marks a child session (one for each call of an agent that is used as a
   * tool), which is not listed.
   *
   * @throws MeshError `already_exists` for an id in use; `invalid_argument` for names that cannot be keys or
   * state that is not JSON.
   */
  createSession(request: CreateSessionRequest): Promise<Session>;

  /**
   * Reads the session with its events, or creates it; `state` is only for a new session.
   *
   * @throws MeshError as `createSession`
   */
  getOrCreateSession(request: CreateSessionRequest): Promise<Session>;

  /**
   * Reads the session with its events, or returns undefined. The result belongs to the caller: changing it
   * changes nothing stored.
   */
  getSession(request: GetSessionRequest): Promise<Session | undefined>;

  /**
   * Lists a user's sessions.
   *
   * @throws MeshError `invalid_argument` for an invalid part of the list
   */
  listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /**
   * Deletes a session with its events and state, its child sessions, the records of its invocations, its
   * sign-ins, and its pending calls; `app:` and `user:` state stays. Other callers do not see the session any
   * more as soon as the deletion begins. Does nothing for an unknown session. A second deletion finishes an
   * interrupted deletion.
   */
  deleteSession(request: DeleteSessionRequest, options?: DeleteSessionOptions): Promise<void>;

  /**
   * Commits an event in one atomic step: appends it, applies its state delta to the right scopes, and
   * increments the sequence number. Then updates `session` (events, state, seq, lastUpdateTime). A null value
   * in a delta is stored as null. `temp:` keys go to the invocation's record and stay visible in
   * `session.state` for the running invocation; the returned and stored event lacks them. An event id that
   * this invocation has already committed changes nothing; the call returns the first result. A partial event
   * is returned and not stored.
   *
   * With a `token` (see {@link SessionLeases.take}) the same atomic step refuses the commit, also of a
   * repeated event, in three cases: the token is older than that of the event's invocation, the invocation
   * has ended, or another invocation has the session. With an `attempt` it refuses the commit when that
   * attempt is not the newest at its part. Without them nothing is checked, because within one process nobody
   * takes over. An event with `aside`, whose invocation may have ended long ago, does not make that
   * invocation a running invocation again. With `whileOpen` the event is committed only while that call is
   * pending, in the same step. With `end` the same step records the end of the run and frees the session, as
   * {@link Invocations.end} does: of all ends of a run one is committed.
   *
   * @throws MeshError `not_found` when the session is gone; `failed_precondition` when the call of
   * `whileOpen` is not pending any more; `aborted` for an old token; `invalid_argument` for values that JSON
   * cannot hold.
   */
  appendEvent(request: AppendEventRequest): Promise<Event>;
}

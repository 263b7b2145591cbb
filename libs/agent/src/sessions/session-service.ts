import type { Event, SessionRef } from '@agentmesh/protocol';
import type { Attempt, Invocations } from './invocations.ts';
import type { PendingCalls } from './pending-calls.ts';
import type { Session } from './session.ts';
import type { SessionLeases } from './session-leases.ts';
import type { ListSessionsRequest, ListSessionsResponse } from './session-list.ts';
import type { SessionLog, StoredEvent } from './session-log.ts';
import type { UserRecords } from './user-records.ts';

/** The events of a session that a reader wants: those that fit all that is given, of which the last N. */
export interface GetSessionConfig {
  /** Only the last N events; 0 for none. */
  numRecentEvents?: number;
  /** Only events at or after this time, epoch ms. */
  afterTimestamp?: number;
  /** Only events with a greater number in the session: those that a reader of the first ones lacks. Costs what it returns. */
  afterSeq?: number;
}

export interface DeleteSessionOptions {
  /**
   * Called with each page of the log, and of those of hidden sessions, before they go, and with an empty one at the end of each: for whoever keeps
   * more of the events elsewhere. A deletion that goes on where another was cut short calls it with the same pages again.
   */
  onEvents?: (ref: SessionRef, page: readonly StoredEvent[]) => Promise<void>;
  /** Called with the number of things that went beside the events. */
  onDeleted?: (what: 'artifacts' | 'callResults', count: number) => void;
}

export interface CreateSessionRequest {
  appName: string;
  userId: string;
  state?: Record<string, unknown>;
  sessionId?: string;
  /** A session of an agent that is used as a tool: it is not listed. */
  hidden?: boolean;
}

export interface GetSessionRequest extends SessionRef {
  config?: GetSessionConfig;
}

/** Names a session; ADK's name is `CompositeSessionKey`. */
export type DeleteSessionRequest = SessionRef;

export interface AppendEventRequest {
  session: Session;
  event: Event;
  /** The fencing token of the run's lease: an old one is refused. */
  token?: number;
  /** The attempt that the event comes from: one that is not the newest at its part is refused. */
  attempt?: Attempt;
  /** The invocation may be over for long: it does not become a running one again. */
  aside?: boolean;
  /** Id of the call that must still wait. */
  whileOpen?: string;
}

/**
 * Keeps sessions. The methods are those of ADK's service of the same name; all else is in contracts of its own: `log`, `leases`, `invocations`, `pending`
 * and `users`. One conformance suite (`@agentmesh/agent/conformance`), an implementation in memory here and one on Redis in `@agentmesh/store`.
 *
 * State scopes: `app:` keys are shared by all sessions of the app, `user:` keys by those of the app's user, keys without prefix belong to the
 * session, `temp:` keys to the invocation: they are never in a session's stored state or in a stored event.
 */
export interface SessionService {
  /** The events of a session by their numbers. */
  readonly log: SessionLog;

  /** The right to write a session, and the queue of runs that wait for it. */
  readonly leases: SessionLeases;

  /** The records of invocations. */
  readonly invocations: Invocations;

  /** The calls that wait for an answer from outside, kept in the same step as the events that ask and answer. */
  readonly pending: PendingCalls;

  /** The records of a user over all sessions. */
  readonly users: UserRecords;

  /**
   * Starts a session; a missing id is made up (UUID). `app:` and `user:` keys of `state` go to their scopes, `temp:` keys are dropped.
   * `hidden` sessions (an agent used as a tool has one per call) are not listed.
   *
   * @throws MeshError `already_exists` for an id in use; `invalid_argument` for names that cannot be keys or state that is not JSON.
   */
  createSession(request: CreateSessionRequest): Promise<Session>;

  /** Reads the session with its events, or creates it. A `state` is only of a new one. @throws MeshError as `createSession` */
  getOrCreateSession(request: CreateSessionRequest): Promise<Session>;

  /** Reads the session with its events, or undefined. The result is the caller's own: changing it changes nothing stored. */
  getSession(request: GetSessionRequest): Promise<Session | undefined>;

  /** Lists a user's sessions. @throws MeshError `invalid_argument` for a part of the list that is none */
  listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /**
   * Removes a session with its events and state, its hidden sessions, the records of its invocations, its sign-ins, and what it waits for; `app:` and `user:`
   * state stays. The session is gone for all others as soon as the deletion begins. No-op for an unknown one; another deletion finishes one that was cut short.
   */
  deleteSession(request: DeleteSessionRequest, options?: DeleteSessionOptions): Promise<void>;

  /**
   * Commits an event in one atomic step: appends it, applies its state delta in the right scopes, counts the sequence up; and
   * brings `session` (events, state, seq, lastUpdateTime) up to date with it. A null value in a delta is stored as null. `temp:` keys go to the
   * invocation's record and, in `session.state`, stay visible to the running invocation; the returned and stored event lacks them.
   * An event id that this invocation has committed before changes nothing; the call returns as the first one did.
   * A partial event is returned and not stored.
   *
   * With a `token` (see {@link SessionLeases.take}) the same atomic step refuses the commit, a repeated event too, and changes nothing: when it is older than that of
   * the event's invocation, when the invocation has ended, and when another one has the session. So it does with an `attempt` that is not the
   * newest at its part. Without them nothing is checked: within one process nobody takes over. An event that comes `aside`, of an invocation that may be
   * over for long, does not make it a running one again. `whileOpen`: only as long as that call waits, in the same step.
   *
   * @throws MeshError `not_found` when the session is gone; `failed_precondition` when the call of `whileOpen` waits no longer; `aborted` for an old token; `invalid_argument` for what JSON cannot hold.
   */
  appendEvent(request: AppendEventRequest): Promise<Event>;
}

import type { Event, SessionRef } from '@agentmesh/protocol';
import type { PendingCalls } from './pending-calls.ts';
import type { SessionLeases } from './session-leases.ts';
import type { ListSessionsRequest, ListSessionsResponse } from './session-list.ts';
import type { UserRecords } from './user-records.ts';

export type { ListSessionsRequest, ListSessionsResponse } from './session-list.ts';

/** One conversation as its agents see it. `state` holds all scopes, keys with their prefixes. */
export interface Session {
  id: string;
  appName: string;
  userId: string;
  state: Record<string, unknown>;
  events: Event[];
  /** Epoch ms of the last committed event. */
  lastUpdateTime: number;
  /** Sequence number of the last committed event known to this object; 0 before the first. */
  seq: number;
}

/** Which events of a session are wanted: those that fit all that is given, of which the last N. */
export interface GetSessionConfig {
  /** Only the last N events; 0 for none. */
  numRecentEvents?: number;
  /** Only events at or after this time, epoch ms. */
  afterTimestamp?: number;
  /** Only events with a greater number in the session: those that a reader of the first ones lacks. Costs what it returns. */
  afterSeq?: number;
}

/** How many events of a session lie before those that were read: a turn need not have all. */
export function unreadBefore({ seq, events }: Session): number {
  return seq - events.length;
}

/**
 * What of a session's log a turn needs. Without `last` and `summaries` all of it; with both, whichever is more. Always among it are the events of its
 * invocation, and of those that made the calls which it answers: nothing that a turn follows from is missing.
 */
export interface TurnNeed {
  /** The last so many events. */
  last?: number;
  /** What the last summary of each of these agents does not stand for; '' for those of the app. */
  summaries?: readonly string[];
  /** Ids of calls that are answered. */
  answers?: readonly string[];
  /** Who spoke last of these. */
  authors?: readonly string[];
  /** What begins with this number. */
  fromSeq?: number;
}

/** A session as a turn needs it. Its events end with the last one and have no gap. */
export interface TurnSession {
  session: Session;
  /** Number of the first event that is needed; at least 1. */
  firstSeq: number;
  /** Tells it from one that has its id before or after it. */
  incarnation: string;
}

export interface DeleteSessionOptions {
  /**
   * Called with each page of the log, and of those of hidden sessions, before they go, and with an empty one at the end of each: for what else is kept of
   * the events. A deletion that goes on where another was cut short calls it with the same pages again.
   */
  onEvents?: (ref: SessionRef, page: readonly StoredEvent[]) => Promise<void>;
  /** Told how much went beside the events. */
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
  token?: number;
  attempt?: Attempt;
  aside?: boolean;
  whileOpen?: string;
}

/** An event with its number in the session, from 1, without a gap. */
export interface StoredEvent {
  seq: number;
  event: Event;
}

/** One of several tries at a part of an invocation: an ask, or a step, that was sent again when its callee fell silent. */
export interface Attempt {
  part: string;
  /** From 1. */
  number: number;
}

/** How a run ended; why it failed is an error code of the mesh and its message. */
export interface RunEnd {
  status: 'completed' | 'failed';
  error?: { code: string; message: string };
}

/** How a run ends. */
export interface RunEnding extends RunEnd {
  /** It had not done anything: the invocation is as it was before, also where it was begun to be continued. */
  refused?: boolean;
  /** Calls of it wait for an answer from outside: its record is kept as long as that of one at work, for whoever continues it. */
  waits?: boolean;
}

/** What is kept of one invocation beside its events, for whoever continues it. */
export interface InvocationRecord {
  /** Of a continued one: how it stands with the run that continued it last. */
  status: 'running' | 'completed' | 'failed';
  /** The run that continued it last; absent before one did. */
  resume?: string;
  /** How its runs ended, by their `resume`; the first one's by ''. Absent before anybody wanted to continue it: see {@link endOfRun}. */
  ends?: ReadonlyMap<string, RunEnd>;
  /** `temp:` state, keys with their prefix. */
  temp: Record<string, unknown>;
  llmCalls: number;
  /** Tokens of the answers that were committed, in and out (`usageMetadata.totalTokenCount`), over all its sessions. */
  tokens: number;
  /** Why somebody wants it to end; see `cancelInvocation`. */
  cancelled?: string;
  /** Why it failed: an error code of the mesh and its message. */
  error?: { code: string; message: string };
}

/** Names an invocation in its session's user scope. */
export interface InvocationRef extends SessionRef {
  invocationId: string;
  /** Which of its runs is meant, where that matters: the one that continues it by this id; absent, the one that began it. */
  resume?: string | undefined;
}

/** How a run of an invocation ended; undefined as long as it has not. */
export function endOfRun(record: InvocationRecord, resume?: string): RunEnd | undefined {
  if (record.ends) return record.ends.get(resume ?? '');
  const { status, error } = record;
  if (resume !== undefined || status === 'running') return undefined;
  return { status, ...(error && { error }) };
}

/**
 * Keeps sessions. One contract, one conformance suite (`@agentmesh/agent/conformance`), an implementation in memory here
 * and one on Redis in `@agentmesh/store`.
 *
 * State scopes: `app:` keys are shared by all sessions of the app, `user:` keys by those of the app's user, keys without prefix belong to the
 * session, `temp:` keys to the invocation: they are never in a session's stored state or in a stored event.
 */
export interface SessionService extends SessionLeases {
  /** What waits for an answer from outside, kept in the same step as the events that ask and answer. */
  readonly pending: PendingCalls;

  /** What is kept of a user over all sessions. */
  readonly users: UserRecords;

  /**
   * Starts a session; a missing id is made up (UUID). `app:` and `user:` keys of `state` go to their scopes, `temp:` keys are dropped.
   * `hidden` sessions (an agent used as a tool has one per call) are not listed.
   *
   * @throws MeshError `already_exists` for an id in use; `invalid_argument` for names that cannot be keys or state that is not JSON.
   */
  createSession(request: CreateSessionRequest): Promise<Session>;

  /** The session with its events, or a new one. A `state` is only of a new one. @throws MeshError as `createSession` */
  getOrCreateSession(request: CreateSessionRequest): Promise<Session>;

  /** The session with its events, or undefined. The result is the caller's own: changing it changes nothing stored. */
  getSession(request: GetSessionRequest): Promise<Session | undefined>;

  /**
   * The session for a turn of an invocation, or undefined. Costs what it returns, however long the session is.
   *
   * @param knownSeq what the reader has: of the events that are needed those from this one on are returned, itself among them
   */
  readTurn(ref: InvocationRef, need: TurnNeed, knownSeq?: number): Promise<TurnSession | undefined>;

  /** A user's sessions. @throws MeshError `invalid_argument` for a part of the list that is none */
  listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /** The state that a session was created with: keys without prefix. Undefined for an unknown one. */
  initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined>;

  /**
   * Appends events of elsewhere, as they are. Their changes of the session's own state are made; those of `app:` and `user:` stay in the log alone. No call
   * among them waits. Done again it changes nothing: `afterSeq` says where they belong.
   *
   * @throws MeshError `not_found` when the session is gone; `failed_precondition` when it has come to another number; `invalid_argument` as `appendEvent`
   */
  appendHistory(ref: SessionRef, history: { afterSeq: number; events: readonly Event[] }): Promise<void>;

  /**
   * Removes a session with its events and state, its hidden sessions, the records of its invocations, its sign-ins, and what it waits for; `app:` and `user:`
   * state stays. From its begin on the session is gone for all others. No-op for an unknown one; one that was cut short is finished by another.
   */
  deleteSession(request: DeleteSessionRequest, options?: DeleteSessionOptions): Promise<void>;

  /**
   * Commits an event in one atomic step: appends it, applies its state delta in the right scopes, counts the sequence up; and
   * brings `session` (events, state, seq, lastUpdateTime) up to date with it. A null value in a delta is stored as null. `temp:` keys go to the
   * invocation's record and, in `session.state`, stay visible to the running invocation; the returned and stored event lacks them.
   * An event id that this invocation has committed before changes nothing; the call returns as the first one did.
   * A partial event is returned and not stored.
   *
   * With a `token` (see `takeSession`) the same atomic step refuses the commit, a repeated event too, and changes nothing: when it is older than that of
   * the event's invocation, when the invocation has ended, and when another one has the session. So it does with an `attempt` that is not the
   * newest at its part. Without them nothing is checked: within one process nobody takes over. An event that comes `aside`, of an invocation that may be
   * over for long, does not make it a running one again. `whileOpen`: only as long as that call waits, in the same step.
   *
   * @throws MeshError `not_found` when the session is gone; `failed_precondition` when the call of `whileOpen` waits no longer; `aborted` for an old token; `invalid_argument` for what JSON cannot hold.
   */
  appendEvent(request: AppendEventRequest): Promise<Event>;

  /** Events with `afterSeq` < seq, in order, `limit` at most (default 1,000). Costs what it returns. */
  readEvents(request: SessionRef & { afterSeq?: number; limit?: number }): Promise<StoredEvent[]>;

  /** The invocation's record; an invocation without one has the record of a running one that did nothing yet. */
  getInvocation(ref: InvocationRef): Promise<InvocationRecord>;
  /** Begins an attempt at a part of the invocation, by any name: earlier ones at it can commit nothing more. */
  beginAttempt(ref: InvocationRef, part: string): Promise<Attempt>;
  /**
   * Counts one model call of the invocation and returns the new total: one counter for all its processes.
   *
   * @throws MeshError `aborted` for an old token, as `appendEvent` does
   */
  countLlmCall(ref: InvocationRef, token?: number): Promise<number>;
  /**
   * Marks the end of the run that the ref names, and frees the session. The first end of a run stays: a second call changes nothing. Returns the
   * record of the invocation as it then is.
   *
   * @throws MeshError `aborted` for an old token, as `appendEvent` does
   */
  endInvocation(ref: InvocationRef, end: RunEnding, token?: number): Promise<InvocationRecord>;
}

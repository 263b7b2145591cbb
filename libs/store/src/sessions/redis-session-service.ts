import { randomUUID } from 'node:crypto';
import type {
  AppendEventRequest,
  CreateSessionRequest,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionService,
} from '@agentmesh/agent';
import {
  callAnsweredError,
  type DeleteSessionOptions,
  getOrCreateSession,
  newerAttemptError,
  noSession,
  noteIncarnation,
  pendingChanges,
  pickScopes,
  sessionReplacedError,
  takeoverError,
} from '@agentmesh/agent/internal';
import { type Event, keptJson, MeshError, meshTime, type SessionRef, toJson } from '@agentmesh/protocol';
import type { Outbox } from './app-state.ts';
import { type CommitResult, commitValues, plainCommit } from './commit-values.ts';
import { deleteSession } from './delete-session.ts';
import { bringUpToDate, chooseEvents, decodeEvent, encodeEvent, logPart } from './event-log.ts';
import { listSessions } from './list-sessions.ts';
import { RedisInvocations } from './redis-invocations.ts';
import { RedisOverview } from './redis-overview.ts';
import { RedisPendingCalls } from './redis-pending-calls.ts';
import { RedisSessionLeases } from './redis-session-leases.ts';
import { RedisSessionLog } from './redis-session-log.ts';
import { RedisUserRecords } from './redis-user-records.ts';
import { callOf } from './script-call.ts';
import { commitScript } from './scripts/commit-script.ts';
import { unfinishedTtl } from './scripts/retention.ts';
import { createScript } from './scripts/session-scripts.ts';
import type { SessionPlace } from './session-place.ts';
import { assignDelta, splitDelta, stateOf } from './state-delta.ts';

/** `retention`: default all sessions, for ever. */
type RedisSessionServiceOptions = Omit<SessionPlace, 'retention'> & Partial<Pick<SessionPlace, 'retention'>>;

/**
 * Sessions in Redis: a commit is one Lua script on the slot of the user. Every operation here may be
 * repeated, and is repeated when Redis did not answer, within the connection's time limit; only a model call
 * may then be counted twice.
 */
export class RedisSessionService implements SessionService {
  readonly #place: SessionPlace;
  readonly log: RedisSessionLog;
  readonly leases: RedisSessionLeases;
  readonly invocations: RedisInvocations;
  readonly pending: RedisPendingCalls;
  readonly users: RedisUserRecords;
  readonly overview: RedisOverview;

  constructor({ retention = () => ({}), ...place }: RedisSessionServiceOptions) {
    this.#place = { ...place, retention };
    this.log = new RedisSessionLog(this.#place);
    this.leases = new RedisSessionLeases(this.#place);
    this.invocations = new RedisInvocations(this.#place);
    this.pending = new RedisPendingCalls(place.connection, place.keys);
    this.users = new RedisUserRecords(place);
    this.overview = new RedisOverview(place.connection, place.keys);
  }

  async createSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, state = {}, sessionId: id = randomUUID() } = request;
    const { hidden = false, isUnfinished = false } = request;
    const ref = { appName, userId, sessionId: id };
    const { connection, keys, app, retention } = this.#place;
    const delta = splitDelta(state, 'the state');
    keptJson('state', JSON.stringify(state));
    const sessionState = stateOf('session', delta.session.flat());
    const now = meshTime();
    const nonce = randomUUID();
    const values = {
      list: hidden ? keys.hiddenSessions(appName, userId) : keys.sessions(appName, userId),
      nonce,
      now,
      hidden: hidden ? 1 : 0,
      initial: toJson(sessionState, 'the state'),
      ttl: isUnfinished ? unfinishedTtl(retention(appName)) : (retention(appName).sessionTtlMs ?? ''),
      sessionState: delta.session.flat(),
      userState: delta.user.flat(),
      appState: delta.app.flat(),
    };
    const created = await app.readWithApp(ref, (appKey) =>
      connection.script<[string[], Outbox, user: string[]] | null>(
        ...callOf(keys, createScript, ref, { ...values, app: appKey }),
      ),
    );
    if (!created) throw new MeshError('already_exists', `session ${id} exists; use it or choose another id`);
    const [appState, user] = created;
    const allState = { ...appState, ...stateOf('user', user), ...sessionState };
    const session = { id, appName, userId, state: allState, events: [], lastUpdateTime: now, seq: 0 };
    return noteIncarnation(session, nonce);
  }

  async getSession({ config = {}, ...ref }: GetSessionRequest): Promise<Session | undefined> {
    const sessionPart = await this.log.readPart(ref, logPart(config));
    if (!sessionPart) return undefined;
    const { log, incarnation, ...session } = sessionPart;
    return noteIncarnation({ ...session, events: chooseEvents(log, config) }, incarnation);
  }

  getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    return getOrCreateSession(this, request);
  }

  listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    return listSessions(this.#place, request);
  }

  async deleteSession(ref: SessionRef, options: DeleteSessionOptions = {}): Promise<void> {
    const { connection, keys } = this.#place;
    await deleteSession({ connection, keys, log: this.log, ref, options });
  }

  async appendEvent(request: AppendEventRequest): Promise<Event> {
    const { session, event } = request;
    if (event.partial) return event;
    const json = encodeEvent(event);
    const stored = decodeEvent(json);
    const { calls } = request;
    // Another commit at the same time must not count the same calls.
    const uncounted = calls?.uncounted ?? 0;
    if (calls) calls.uncounted -= uncounted;
    const given = { ...request, json, stored, uncounted };
    const { seq, repeated, counted } = await this.#commit(given).catch((error: unknown) => {
      if (calls) calls.uncounted += uncounted;
      throw error;
    });
    if (calls) calls.counted = counted;
    const isNext = !repeated && session.seq === seq - 1;
    const missed = isNext
      ? [{ seq, event: stored }]
      : await this.log.readRange(refOf(session), Math.min(session.seq, seq - 1), seq);
    const news = bringUpToDate(session, missed);
    if (news || !repeated) assignDelta(session.state, pickScopes(event.actions.stateDelta, ['temp']));
    // A copy: changes of the returned event do not reach the session's own.
    return (isNext ? undefined : structuredClone(missed.at(-1)?.event)) ?? decodeEvent(json);
  }

  async #commit({
    session,
    stored,
    whileOpen,
    end,
    ...request
  }: Committing): Promise<{ seq: number; repeated: boolean; counted: number }> {
    const ref = refOf(session);
    const { connection, app } = this.#place;
    const changes = pendingChanges(stored, session.id);
    const values = { ...request, ref, changes, knownSeq: session.seq, ...{ whileOpen, end } };
    const plain = plainCommit(this.#place, values);
    let result = plain ? await connection.script<CommitResult | 'unusual'>(...plain) : 'unusual';
    if (result === 'unusual') {
      const call = commitScript.call(commitValues(this.#place, values));
      await this.pending.before(ref, changes);
      result = await connection.script<CommitResult>(...call);
    }
    if (result === 'gone') throw noSession(ref);
    if (result === 'fenced') throw takeoverError();
    if (result === 'repeated') throw newerAttemptError();
    if (result === 'other') throw sessionReplacedError(session);
    if (result === 'late') throw callAnsweredError(whileOpen ?? '');
    const [seq, repeated, outbox, counted, isIdle] = result;
    if (end) end.isIdle = isIdle === 1;
    await app.applyOutbox(ref.appName, ref.userId, outbox);
    await this.pending.after(ref, changes);
    return { seq, repeated: repeated === 1, counted };
  }
}

interface Committing extends AppendEventRequest {
  json: string;
  /** The event as other processes read it: without `temp:` state. */
  stored: Event;
  uncounted: number;
}

const refOf = ({ appName, userId, id: sessionId }: Session): SessionRef => ({ appName, userId, sessionId });

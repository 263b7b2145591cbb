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
  askedAgain,
  type DeleteSessionOptions,
  getOrCreateSession,
  hasAnswer,
  pendingChanges,
  pickScopes,
  tokensOf,
  turnChanges,
} from '@agentmesh/agent/internal';
import { type Event, encodeToken, keptJson, MeshError, type SessionRef, toJson } from '@agentmesh/protocol';
import type { Outbox } from './app-state.ts';
import { deleteSession } from './delete-session.ts';
import {
  bringUpToDate,
  chooseEvents,
  decodeEvent,
  encodeEvent,
  logPart,
  notTheSame,
  takenOver,
} from './event-log.ts';
import { listSessions } from './list-sessions.ts';
import { RedisInvocations } from './redis-invocations.ts';
import { pendingArgs, pendingField, RedisPendingCalls, turnArgs } from './redis-pending-calls.ts';
import { RedisSessionLeases } from './redis-session-leases.ts';
import { RedisSessionLog } from './redis-session-log.ts';
import { RedisUserRecords } from './redis-user-records.ts';
import { retentionArgs } from './retention.ts';
import type { SessionPlace } from './session-place.ts';
import { commitScript, createScript } from './session-scripts.ts';
import { assignDelta, scriptArgs, splitDelta, stateOf } from './state-delta.ts';

/** `retention`: default all sessions, for ever. */
type RedisSessionServiceOptions = Omit<SessionPlace, 'retention'> & Partial<Pick<SessionPlace, 'retention'>>;

/**
 * Sessions on Redis: a commit is one Lua script on the slot of the user. Everything here may be tried again after an unknown
 * outcome, and is, within the connection's time limit; only a model call may then be counted once too often.
 */
export class RedisSessionService implements SessionService {
  readonly #place: SessionPlace;
  readonly log: RedisSessionLog;
  readonly leases: RedisSessionLeases;
  readonly invocations: RedisInvocations;
  readonly pending: RedisPendingCalls;
  readonly users: RedisUserRecords;

  constructor({ retention = () => ({}), ...place }: RedisSessionServiceOptions) {
    this.#place = { ...place, retention };
    this.log = new RedisSessionLog(this.#place);
    this.leases = new RedisSessionLeases(this.#place);
    this.invocations = new RedisInvocations(this.#place);
    this.pending = new RedisPendingCalls(place.connection, place.keys);
    this.users = new RedisUserRecords(place);
  }

  async createSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, state = {}, sessionId: id = randomUUID(), hidden = false } = request;
    const ref = { appName, userId, sessionId: id };
    const { connection, keys, app, retention } = this.#place;
    const delta = splitDelta(state, 'the state');
    keptJson('state', JSON.stringify(state));
    const now = Date.now();
    const made = await connection.script<[user: string[], outbox: Outbox] | null>(
      createScript,
      [
        keys.session(ref),
        keys.state(ref),
        keys.user(appName, userId),
        hidden ? keys.hiddenSessions(appName, userId) : keys.sessions(appName, userId),
        keys.appOutbox(appName, userId),
        keys.sessionEnds(appName, userId),
      ],
      [
        randomUUID(),
        id,
        now,
        hidden ? 1 : 0,
        toJson(stateOf('session', delta.session.flat()), 'the state'),
        retention(appName).sessionTtlMs ?? '',
        ...[delta.session, delta.user, delta.app].flatMap(scriptArgs),
      ],
    );
    if (!made) throw new MeshError('already_exists', `session ${id} exists; use it or choose another id`);
    const [user, outbox] = made;
    await app.applyOutbox(appName, userId, outbox);
    const own = stateOf('session', delta.session.flat());
    const all = { ...(await app.readApp(appName)), ...stateOf('user', user), ...own };
    return { id, appName, userId, state: all, events: [], lastUpdateTime: now, seq: 0 };
  }

  async getSession({ config = {}, ...ref }: GetSessionRequest): Promise<Session | undefined> {
    const found = await this.log.readPart(ref, logPart(config));
    if (!found) return undefined;
    const { log, ...session } = found;
    return { ...session, events: chooseEvents(log, config) };
  }

  getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    return getOrCreateSession(this, request);
  }

  listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    return listSessions(this.#place, request);
  }

  async deleteSession(ref: SessionRef, options: DeleteSessionOptions = {}): Promise<void> {
    await deleteSession({ ...this.#place, log: this.log }, ref, options);
  }

  async appendEvent(request: AppendEventRequest): Promise<Event> {
    const { session, event } = request;
    if (event.partial) return event;
    const json = encodeEvent(event);
    const { seq, repeated } = await this.#commit(session, event, json, request);
    const missed =
      !repeated && session.seq === seq - 1
        ? [{ seq, event: decodeEvent(json) }]
        : await this.log.readRange(refOf(session), Math.min(session.seq, seq - 1), seq);
    const news = bringUpToDate(session, missed);
    if (news || !repeated) assignDelta(session.state, pickScopes(event.actions.stateDelta, ['temp']));
    // The session's own stays as it is, whatever becomes of what is returned.
    return structuredClone(missed.at(-1)?.event) ?? decodeEvent(json);
  }

  async #commit(
    session: Session,
    event: Event,
    json: string,
    { token, attempt, aside = false, whileOpen }: Omit<AppendEventRequest, 'session'>,
  ): Promise<{ seq: number; repeated: boolean }> {
    const { appName, userId, id } = session;
    const ref = refOf(session);
    const { connection, keys, app, invocationTtlMs, retention } = this.#place;
    const delta = splitDelta(event.actions.stateDelta, 'the state delta');
    const changes = pendingChanges(decodeEvent(json), id);
    await this.pending.before(ref, changes);
    const result = await connection.script<CommitResult>(
      commitScript,
      [
        keys.session(ref),
        keys.events(ref),
        keys.state(ref),
        keys.user(appName, userId),
        keys.sessions(appName, userId),
        keys.invocation(appName, userId, event.invocationId),
        keys.appOutbox(appName, userId),
        keys.pending(appName, userId),
        keys.answered(ref),
        keys.hiddenSessions(appName, userId),
        keys.index(appName, userId),
        keys.sessionEnds(appName, userId),
      ],
      [
        ...[id, encodeToken(id), event.id, json, event.timestamp, event.invocationId, session.seq],
        ...[invocationTtlMs.running, invocationTtlMs.ended],
        token ?? '',
        tokensOf(event),
        attempt?.part ?? '',
        attempt?.number ?? '',
        whileOpen === undefined ? '' : pendingField(id, whileOpen),
        ...[delta.session, delta.user, delta.temp, delta.app].flatMap(scriptArgs),
        ...pendingArgs(changes, id),
        ...turnArgs(turnChanges(event)),
        aside ? 1 : 0,
        ...retentionArgs(retention(appName)),
      ],
    );
    if (result === 'gone') throw new MeshError('not_found', `session ${id} is gone; create a new one`);
    if (result === 'fenced') throw takenOver();
    if (result === 'repeated') throw askedAgain();
    if (result === 'other') throw notTheSame(session);
    if (result === 'late') throw hasAnswer(whileOpen ?? '');
    const [seq, repeated, outbox] = result;
    await app.applyOutbox(appName, userId, outbox);
    await this.pending.after(ref, changes);
    return { seq, repeated: repeated === 1 };
  }
}

type CommitResult =
  | [seq: number, repeated: 0 | 1, outbox: Outbox]
  | 'gone'
  | 'fenced'
  | 'repeated'
  | 'other'
  | 'late';

const refOf = ({ appName, userId, id: sessionId }: Session): SessionRef => ({ appName, userId, sessionId });

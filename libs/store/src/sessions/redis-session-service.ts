import { randomUUID } from 'node:crypto';
import type {
  CreateSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionService,
} from '@agentmesh/agent';
import {
  type Attempt,
  askedAgain,
  type DeleteSessionOptions,
  elsewhere,
  getOrCreateSession,
  hasAnswer,
  type InvocationRecord,
  type InvocationRef,
  pendingChanges,
  pickScopes,
  runName,
  type SessionLeases,
  type StoredEvent,
  type TakenSession,
  type TurnSession,
  tokensOf,
  turnChanges,
} from '@agentmesh/agent/internal';
import {
  type Event,
  encodeToken,
  type Keys,
  keptJson,
  MeshError,
  type SessionRef,
  toJson,
} from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { Script } from '../scripts/script.ts';
import type { AppState, Outbox } from './app-state.ts';
import { deleteSession } from './delete-session.ts';
import {
  bringUpToDate,
  decodeEvent,
  type EncodedEvent,
  encodeEvent,
  inGroups,
  notTheSame,
  takenOver,
} from './event-log.ts';
import { recordOf } from './invocation-record.ts';
import { attemptScript, countScript, endScript, readInvocationScript } from './invocation-scripts.ts';
import { pendingArgs, pendingField, RedisPendingCalls, turnArgs } from './redis-pending-calls.ts';
import { redisSessionLeases, resumeName, sessionKeys } from './redis-session-leases.ts';
import { RedisUserRecords } from './redis-user-records.ts';
import { type RetentionOf, retentionArgs } from './retention.ts';
import { SessionReader } from './session-reader.ts';
import { appendHistoryScript, commitScript, createScript } from './session-scripts.ts';
import { assignDelta, scriptArgs, splitDelta, stateOf } from './state-delta.ts';

export interface RedisSessionServiceOptions {
  connection: RedisConnection;
  keys: Keys;
  app: AppState;
  /** How long the record of an invocation is kept after its last write, and after its end, ms. */
  invocationTtlMs: { running: number; ended: number };
  /** How long sessions of an app are kept, and how much of them; default all, for ever. */
  retention?: RetentionOf;
}

/**
 * Sessions on Redis: a commit is one Lua script on the slot of the user. Everything here may be tried again after an unknown
 * outcome, and is, within the connection's time limit; only a model call may then be counted once too often.
 */
export class RedisSessionService implements SessionService {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #app: AppState;
  readonly #ttls: [running: number, ended: number];
  readonly #leases: SessionLeases;
  readonly #reader: SessionReader;
  readonly #retention: RetentionOf;
  readonly pending: RedisPendingCalls;
  readonly users: RedisUserRecords;

  constructor({
    connection,
    keys,
    app,
    invocationTtlMs,
    retention = () => ({}),
  }: RedisSessionServiceOptions) {
    this.#retention = retention;
    this.#connection = connection;
    this.#keys = keys;
    this.#app = app;
    this.#ttls = [invocationTtlMs.running, invocationTtlMs.ended];
    this.#reader = new SessionReader({ connection, keys, app });
    this.#leases = redisSessionLeases(connection, keys, this.#ttls);
    this.pending = new RedisPendingCalls(connection, keys);
    this.users = new RedisUserRecords({ connection, keys, app });
  }

  async createSession(request: Parameters<SessionService['createSession']>[0]): Promise<Session> {
    const { appName, userId, state = {}, sessionId: id = randomUUID(), hidden = false } = request;
    const ref = { appName, userId, sessionId: id };
    const keys = this.#keys;
    const delta = splitDelta(state, 'the state');
    keptJson('state', JSON.stringify(state));
    const now = Date.now();
    const made = await this.#connection.script<[user: string[], outbox: Outbox] | null>(
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
        this.#retention(appName).sessionTtlMs ?? '',
        ...[delta.session, delta.user, delta.app].flatMap(scriptArgs),
      ],
    );
    if (!made) throw new MeshError('already_exists', `session ${id} exists; use it or choose another id`);
    const [user, outbox] = made;
    await this.#app.applyOutbox(appName, userId, outbox);
    const own = stateOf('session', delta.session.flat());
    const all = { ...(await this.#app.readApp(appName)), ...stateOf('user', user), ...own };
    return { id, appName, userId, state: all, events: [], lastUpdateTime: now, seq: 0 };
  }

  getSession(request: Parameters<SessionService['getSession']>[0]): Promise<Session | undefined> {
    return this.#reader.getSession(request);
  }

  readTurn(...args: Parameters<SessionService['readTurn']>): Promise<TurnSession | undefined> {
    return this.#reader.readTurn(...args);
  }

  readEvents(request: Parameters<SessionService['readEvents']>[0]): Promise<StoredEvent[]> {
    return this.#reader.readEvents(request);
  }

  getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    return getOrCreateSession(this, request);
  }

  listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    return this.#reader.listSessions(request);
  }

  async initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined> {
    const key = this.#keys.session(ref);
    const [seq, initial] = await this.#connection.run((redis) => redis.hmget(key, 'seq', 'initial'));
    return seq == null ? undefined : JSON.parse(initial ?? '{}');
  }

  async appendHistory(
    ref: SessionRef,
    { afterSeq, events }: Parameters<SessionService['appendHistory']>[1],
  ): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const groups = inGroups(events.map((event) => ({ event, json: encodeEvent(event) })));
    const isThere = `${afterSeq + events.length} ${last.id}`;
    const key = this.#keys.session(ref);
    // Each group alone knows itself again; who had written all of them knows it by the last.
    if (groups.length > 1 && (await this.#connection.run((redis) => redis.hget(key, 'history'))) === isThere)
      return;
    let at = afterSeq;
    for (const group of groups) {
      await this.#appendGroup(ref, at, group);
      at += group.length;
    }
  }

  async #appendGroup(ref: SessionRef, afterSeq: number, group: readonly EncodedEvent[]): Promise<void> {
    const events = group.map(({ event }) => event);
    const last = events.at(-1);
    if (!last) return;
    const state = new Map(
      events.flatMap(({ actions }) => splitDelta(actions.stateDelta, 'the state delta').session),
    );
    const authors = new Map(
      events.map(({ author = '' }, at) => [author, String(afterSeq + at + 1)] as const),
    );
    const keys = this.#keys;
    const found = await this.#connection.script<1 | 'gone' | number>(
      appendHistoryScript,
      [
        ...[keys.session(ref), keys.events(ref), keys.state(ref)],
        ...[keys.sessions(ref.appName, ref.userId), keys.sessionEnds(ref.appName, ref.userId)],
      ],
      [
        ...[
          ref.sessionId,
          afterSeq,
          last.timestamp,
          last.id,
          events.length,
          ...group.map(({ json }) => json),
        ],
        ...scriptArgs([...state]),
        ...scriptArgs([...authors]),
        this.#retention(ref.appName).sessionTtlMs ?? '',
      ],
    );
    if (found === 'gone')
      throw new MeshError('not_found', `session ${ref.sessionId} is gone; create a new one`);
    if (found !== 1) throw elsewhere(ref, afterSeq, found);
  }

  async deleteSession(ref: SessionRef, options: DeleteSessionOptions = {}): Promise<void> {
    await deleteSession({ connection: this.#connection, keys: this.#keys, sessions: this }, ref, options);
  }

  async appendEvent(request: Parameters<SessionService['appendEvent']>[0]): Promise<Event> {
    const { session, event } = request;
    if (event.partial) return event;
    const json = encodeEvent(event);
    const { seq, repeated } = await this.#commit(session, event, json, request);
    const missed =
      !repeated && session.seq === seq - 1
        ? [{ seq, event: decodeEvent(json) }]
        : await this.#reader.readRange(refOf(session), Math.min(session.seq, seq - 1), seq);
    const news = bringUpToDate(session, missed);
    if (news || !repeated) assignDelta(session.state, pickScopes(event.actions.stateDelta, ['temp']));
    // The session's own stays as it is, whatever becomes of what is returned.
    return structuredClone(missed.at(-1)?.event) ?? decodeEvent(json);
  }

  async getInvocation(ref: InvocationRef): Promise<InvocationRecord> {
    return recordOf(
      await this.#connection.script<string[]>(readInvocationScript, [this.#invocationKey(ref)], []),
    );
  }

  takeSession(...args: Parameters<SessionLeases['takeSession']>): Promise<TakenSession> {
    return this.#leases.takeSession(...args);
  }

  renewSession(...args: Parameters<SessionLeases['renewSession']>): Promise<{ cancelled?: string }> {
    return this.#leases.renewSession(...args);
  }

  giveBackSession(ref: InvocationRef, token: number): Promise<void> {
    return this.#leases.giveBackSession(ref, token);
  }

  nextRun(ref: SessionRef): Promise<string | undefined> {
    return this.#leases.nextRun(ref);
  }

  promoteRun(ref: InvocationRef, leaseMs?: number): Promise<void> {
    return this.#leases.promoteRun(ref, leaseMs);
  }

  waitingSessions(limit: number): Promise<SessionRef[]> {
    return this.#leases.waitingSessions(limit);
  }

  cancelInvocation(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined> {
    return this.#leases.cancelInvocation(ref, reason);
  }

  async beginAttempt(ref: InvocationRef, part: string): Promise<Attempt> {
    const args = [encodeToken(ref.sessionId), ...this.#ttls, part];
    const number = await this.#connection.script<number>(attemptScript, this.#recordKeys(ref), args);
    return { part, number };
  }

  async countLlmCall(ref: InvocationRef, token?: number): Promise<number> {
    const args = [encodeToken(ref.sessionId), ...this.#ttls, token ?? ''];
    return await this.#fenced<number>(countScript, ref, args);
  }

  async endInvocation(
    ref: InvocationRef,
    end: Parameters<SessionService['endInvocation']>[1],
    token?: number,
  ): Promise<InvocationRecord> {
    const { status, error, refused, waits } = end;
    const [running, ended] = this.#ttls;
    const json = toJson({ status, ...(error && { error }) }, 'the end');
    const args = [
      ...[encodeToken(ref.sessionId), running, waits ? running : ended, token ?? '', json],
      ...[runName(ref), resumeName(ref), refused ? 1 : 0],
    ];
    return recordOf(await this.#fenced<string[]>(endScript, ref, args, sessionKeys(this.#keys, ref)));
  }

  /** @throws MeshError `aborted` when the script refuses the token */
  async #fenced<T>(
    script: Script,
    ref: InvocationRef,
    args: (string | number)[],
    more: string[] = [],
  ): Promise<T> {
    const keys = [...this.#recordKeys(ref), ...more];
    const result = await this.#connection.script<T | 'fenced'>(script, keys, args);
    if (result === 'fenced') throw takenOver();
    return result;
  }

  async #commit(
    session: Session,
    event: Event,
    json: string,
    {
      token,
      attempt,
      aside = false,
      whileOpen,
    }: Omit<Parameters<SessionService['appendEvent']>[0], 'session'>,
  ): Promise<{ seq: number; repeated: boolean }> {
    const { appName, userId, id } = session;
    const ref = refOf(session);
    const keys = this.#keys;
    const delta = splitDelta(event.actions.stateDelta, 'the state delta');
    const changes = pendingChanges(decodeEvent(json), id);
    await this.pending.before(ref, changes);
    const result = await this.#connection.script<CommitResult>(
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
        ...this.#ttls,
        token ?? '',
        tokensOf(event),
        attempt?.part ?? '',
        attempt?.number ?? '',
        whileOpen === undefined ? '' : pendingField(id, whileOpen),
        ...[delta.session, delta.user, delta.temp, delta.app].flatMap(scriptArgs),
        ...pendingArgs(changes, id),
        ...turnArgs(turnChanges(event)),
        aside ? 1 : 0,
        ...retentionArgs(this.#retention(appName)),
      ],
    );
    if (result === 'gone') throw new MeshError('not_found', `session ${id} is gone; create a new one`);
    if (result === 'fenced') throw takenOver();
    if (result === 'repeated') throw askedAgain();
    if (result === 'other') throw notTheSame(session);
    if (result === 'late') throw hasAnswer(whileOpen ?? '');
    const [seq, repeated, outbox] = result;
    await this.#app.applyOutbox(appName, userId, outbox);
    await this.pending.after(ref, changes);
    return { seq, repeated: repeated === 1 };
  }

  #recordKeys(ref: InvocationRef): string[] {
    return [this.#invocationKey(ref), this.#keys.index(ref.appName, ref.userId)];
  }

  #invocationKey({ appName, userId, invocationId }: InvocationRef): string {
    return this.#keys.invocation(appName, userId, invocationId);
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

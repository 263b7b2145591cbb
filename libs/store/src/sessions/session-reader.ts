import type { ListSessionsRequest, ListSessionsResponse, Session, SessionService } from '@agentmesh/agent';
import {
  type InvocationRef,
  listed,
  type StoredEvent,
  sliceOf,
  type TurnNeed,
  type TurnSession,
} from '@agentmesh/agent/internal';
import { encodeToken, type Keys, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { RedisClient } from '../connection/redis-link.ts';
import type { AppState, Outbox } from './app-state.ts';
import { assertCount, chooseEvents, type LogEntry, logPart, storedEventOf } from './event-log.ts';
import { dropEndedScript, readScript, readTurnScript } from './session-scripts.ts';
import { stateOf } from './state-delta.ts';

const pageSize = 1_000;
/** So many of a session's last events come with its state in one answer; those before them page by page. */
const newestSize = 200;

/** What the scripts that read a session return; the number of the first event that a turn needs comes from one of them. */
type Picture = [
  /** `first` is the number of the first event that is kept, where others were cut off. */
  meta: [updated: string, seq: string, first: string | null, nonce?: string],
  state: string[],
  user: string[],
  log: LogEntry[],
  outbox: Outbox,
  firstSeq?: number,
];

/** Reads sessions, their lists and logs. */
export class SessionReader {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #app: AppState;

  constructor({ connection, keys, app }: { connection: RedisConnection; keys: Keys; app: AppState }) {
    this.#connection = connection;
    this.#keys = keys;
    this.#app = app;
  }

  async getSession(request: Parameters<SessionService['getSession']>[0]): Promise<Session | undefined> {
    const { config = {} } = request;
    const { count, afterSeq } = logPart(config);
    const args = [Math.min(count, newestSize), afterSeq];
    const picture = this.#connection.script<Picture | null>(readScript, this.#pictureKeys(request), args);
    const found = await this.#view(request, picture, ({ seq }) => Math.max(afterSeq, seq - count));
    if (!found) return undefined;
    const { log, ...session } = found;
    return { ...session, events: chooseEvents(log, config) };
  }

  async readTurn(ref: InvocationRef, need: TurnNeed, knownSeq = 0): Promise<TurnSession | undefined> {
    const { last = '', summaries = [], answers = [], authors = [], fromSeq = '' } = need;
    const keys = [
      ...this.#pictureKeys(ref),
      this.#keys.invocation(ref.appName, ref.userId, ref.invocationId),
      this.#keys.answered(ref),
    ];
    const lists = [summaries, answers, authors].flatMap((list) => [list.length, ...list]);
    const picture = this.#connection.script<Picture | null>(readTurnScript, keys, [
      ...[newestSize, knownSeq, encodeToken(ref.sessionId), last, fromSeq],
      ...lists,
    ]);
    let firstSeq = 1;
    const found = await this.#view(ref, picture, ({ first = 1 }) => {
      firstSeq = first;
      return Math.max(first, knownSeq) - 1;
    });
    if (!found) return undefined;
    const { log, ...session } = found;
    const [[, , , incarnation = '']] = (await picture) ?? [['', '', null]];
    return { session: { ...session, events: log.map(({ event }) => event) }, firstSeq, incarnation };
  }

  #pictureKeys(ref: SessionRef): string[] {
    const { appName, userId } = ref;
    const keys = this.#keys;
    return [
      ...[keys.session(ref), keys.state(ref), keys.user(appName, userId)],
      ...[keys.events(ref), keys.appOutbox(appName, userId)],
    ];
  }

  /** The session of a picture, and its log behind a number. */
  async #view(
    ref: SessionRef,
    script: Promise<Picture | null>,
    behind: (of: { seq: number; first: number | undefined }) => number,
  ): Promise<(Omit<Session, 'events'> & { log: StoredEvent[] }) | undefined> {
    const { appName, userId, sessionId: id } = ref;
    const [picture, appBefore] = await Promise.all([script, this.#app.readApp(appName)]);
    if (!picture) return undefined;
    const [[updated, lastSeq, firstKept], own, user, newestFirst, outbox, firstSeq] = picture;
    const seq = Number(lastSeq);
    const newest = newestFirst.reverse().map(storedEventOf);
    // What is older never changes: it may be read later than the picture.
    const cut = Number(firstKept ?? 1) - 1;
    const [first, last] = [Math.max(behind({ seq, first: firstSeq }), cut), seq - newest.length];
    const older = await this.readRange(ref, first, last);
    if (older.length < last - first) {
      throw new MeshError('unavailable', `session ${id} was deleted while it was read; try again`);
    }
    await this.#app.applyOutbox(appName, userId, outbox);
    const app = outbox.length > 0 ? await this.#app.readApp(appName) : appBefore;
    const state = { ...app, ...stateOf('user', user), ...stateOf('session', own) };
    return { id, appName, userId, state, log: [...older, ...newest], lastUpdateTime: Number(updated), seq };
  }

  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const slice = sliceOf(request);
    const { appName, userId, limit, offset, order } = slice;
    const list = this.#keys.sessions(appName, userId);
    const part = (redis: RedisClient, last: number) =>
      order === 'asc' ? redis.zrange(list, offset, String(last)) : redis.zrevrange(list, offset, last);
    const ends = this.#keys.sessionEnds(appName, userId);
    await this.#connection.script(dropEndedScript, [list, ends], []);
    const [totalItems, ids] = await Promise.all([
      this.#connection.run((redis) => redis.zcard(list)),
      limit === 0 ? [] : this.#connection.run((redis) => part(redis, offset + limit - 1)),
      this.#app.sweep(appName, userId),
    ]);
    const [app, user, found] = await Promise.all([
      this.#app.readApp(appName),
      this.#connection.run((redis) => redis.hgetall(this.#keys.user(appName, userId))),
      Promise.all(ids.map((sessionId) => this.#readHead({ appName, userId, sessionId }))),
    ]);
    const shared = { ...app, ...stateOf('user', Object.entries(user).flat()) };
    const sessions = found.map((head) => head && { ...head, state: { ...shared, ...head.state } });
    // A session may be deleted between the two steps.
    return listed(
      sessions.filter((session) => session !== undefined),
      totalItems,
      slice,
    );
  }

  async readEvents(request: Parameters<SessionService['readEvents']>[0]): Promise<StoredEvent[]> {
    const { afterSeq = 0, limit = pageSize } = request;
    assertCount('afterSeq', afterSeq);
    assertCount('limit', limit);
    const key = this.#keys.events(request);
    if (limit === 0) return [];
    const log = await this.#connection.run((redis) =>
      redis.xrange(key, `0-${afterSeq + 1}`, '+', 'COUNT', limit),
    );
    return log.map(storedEventOf);
  }

  /** The events with `after` < seq <= `last`. */
  async readRange(ref: SessionRef, after: number, last: number): Promise<StoredEvent[]> {
    const events: StoredEvent[] = [];
    for (let at = after; at < last; at += pageSize) {
      events.push(...(await this.readEvents({ ...ref, afterSeq: at, limit: Math.min(pageSize, last - at) })));
    }
    return events;
  }

  async #readHead(ref: SessionRef): Promise<Session | undefined> {
    const [[updated, seq], state] = await Promise.all([
      this.#connection.run((redis) => redis.hmget(this.#keys.session(ref), 'updated', 'seq')),
      this.#connection.run((redis) => redis.hgetall(this.#keys.state(ref))),
    ]);
    if (updated == null) return undefined;
    const own = stateOf('session', Object.entries(state).flat());
    const { appName, userId, sessionId: id } = ref;
    return { id, appName, userId, state: own, events: [], lastUpdateTime: Number(updated), seq: Number(seq) };
  }
}

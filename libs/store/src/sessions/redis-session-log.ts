import type { Session } from '@agentmesh/agent';
import {
  assertCount,
  type HistoryPart,
  historyGapError,
  type InvocationRef,
  noSession,
  type ReadEventsRequest,
  type SessionLog,
  type StoredEvent,
  type TurnNeed,
  type TurnSession,
} from '@agentmesh/agent/internal';
import { type Keys, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { AppState, Outbox } from './app-state.ts';
import {
  type EncodedEvent,
  encodeEvent,
  inGroups,
  type LogEntry,
  type LogPart,
  storedEventOf,
} from './event-log.ts';
import { callOf } from './script-call.ts';
import { type RetentionOf, unfinishedTtl } from './scripts/retention.ts';
import {
  appendHistoryScript,
  readScript,
  readTurnScript,
  readWithinScript,
} from './scripts/session-scripts.ts';
import type { SessionPlace } from './session-place.ts';
import { splitDelta, stateOf } from './state-delta.ts';

const pageSize = 1_000;
/**
 * Number of a session's last events that come with its state in one reply; earlier events are read page by
 * page.
 */
const newestSize = 200;

/**
 * The reply of the scripts that read a session; only one script returns the number of the first event that a
 * turn needs.
 */
type Picture = [
  app: string[],
  outbox: Outbox,
  /** `first` is the number of the first kept event, if older events were cut off. */
  meta: [updated: string, seq: string, first: string | null, nonce: string],
  state: string[],
  user: string[],
  log: LogEntry[],
  firstSeq?: number,
];

/** A session with a part of its log. */
type SessionPart = Omit<Session, 'events'> & { log: StoredEvent[]; incarnation: string };

/** The logs of sessions, each a stream. */
export class RedisSessionLog implements SessionLog {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #app: AppState;
  readonly #retention: RetentionOf;

  constructor({ connection, keys, app, retention }: SessionPlace) {
    this.#connection = connection;
    this.#keys = keys;
    this.#app = app;
    this.#retention = retention;
  }

  /** Reads a session, and at least that part of its log. */
  async readPart(ref: SessionRef, { count, afterSeq }: LogPart): Promise<SessionPart | undefined> {
    const values = { count: Math.min(count, newestSize), after: afterSeq };
    const read = (app: string) => callOf(this.#keys, readScript, ref, { ...values, app });
    return await this.#view(ref, read, ({ seq }) => Math.max(afterSeq, seq - count));
  }

  async readTurn(ref: InvocationRef, need: TurnNeed, knownSeq = 0): Promise<TurnSession | undefined> {
    const { last = '', summaries = [], answers = [], authors = [], fromSeq = '' } = need;
    const values = {
      count: newestSize,
      known: knownSeq,
      last,
      fromSeq,
      summaries,
      answers,
      authors,
    };
    let firstSeq = 1;
    const read = (app: string) => callOf(this.#keys, readTurnScript, ref, { ...values, app });
    const result = await this.#view(ref, read, ({ first = 1 }) => {
      firstSeq = first;
      return Math.max(first, knownSeq) - 1;
    });
    if (!result) return undefined;
    const { log, incarnation, ...session } = result;
    return { session: { ...session, events: log.map(({ event }) => event) }, firstSeq, incarnation };
  }

  /** Returns the session of a picture, and its log after a number. */
  async #view(
    ref: SessionRef,
    read: (appKey: string) => Parameters<RedisConnection['script']>,
    behind: (of: { seq: number; first: number | undefined }) => number,
  ): Promise<SessionPart | undefined> {
    const { appName, userId, sessionId: id } = ref;
    const picture = await this.#app.readWithApp(ref, (appKey) =>
      this.#connection.script<Picture | null>(...read(appKey)),
    );
    if (!picture) return undefined;
    const [app, [updated, lastSeq, firstKept, incarnation], sessionState, user, newestFirst, firstSeq] =
      picture;
    const seq = Number(lastSeq);
    const newest = newestFirst.reverse().map(storedEventOf);
    // Older events never change, so they may be read after the picture.
    const cutOff = Number(firstKept ?? 1) - 1;
    const [first, last] = [Math.max(behind({ seq, first: firstSeq }), cutOff), seq - newest.length];
    const older = await this.readRange(ref, first, last);
    if (older.length < last - first) {
      throw new MeshError('unavailable', `session ${id} was deleted while it was read; try again`);
    }
    const state = { ...app, ...stateOf('user', user), ...stateOf('session', sessionState) };
    const log = [...older, ...newest];
    return { id, appName, userId, state, log, lastUpdateTime: Number(updated), seq, incarnation };
  }

  async readEvents(request: ReadEventsRequest): Promise<StoredEvent[]> {
    const { afterSeq = 0, limit = pageSize } = request;
    assertCount('afterSeq', afterSeq);
    assertCount('limit', limit);
    const key = this.#keys.events(request);
    if (limit === 0) return [];
    if (request.maxChars !== undefined) return await this.#readWithin(key, afterSeq, limit, request.maxChars);
    const log = await this.#connection.read(key, (redis) =>
      redis.xrange(key, `0-${afterSeq + 1}`, '+', 'COUNT', limit),
    );
    return log.map(storedEventOf);
  }

  async #readWithin(events: string, after: number, limit: number, most: number): Promise<StoredEvent[]> {
    const call = readWithinScript.call({ events, after, limit, most });
    const log = await this.#connection.script<LogEntry[]>(...call);
    return log.map((entry) => ({ ...storedEventOf(entry), chars: entry[1][1]?.length ?? 0 }));
  }

  /** Reads the events with `after` < seq <= `last`. */
  async readRange(ref: SessionRef, after: number, last: number): Promise<StoredEvent[]> {
    const events: StoredEvent[] = [];
    for (let at = after; at < last; at += pageSize) {
      events.push(...(await this.readEvents({ ...ref, afterSeq: at, limit: Math.min(pageSize, last - at) })));
    }
    return events;
  }

  async appendHistory(ref: SessionRef, { afterSeq, events, hasMore = false }: HistoryPart): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const groups = inGroups(events.map((event) => ({ event, json: encodeEvent(event) })));
    const isThere = `${afterSeq + events.length} ${last.id}`;
    const key = this.#keys.session(ref);
    // The mark of a group tells whether this group was appended; the mark of the last group tells it for all.
    if (groups.length > 1 && (await this.#connection.run((redis) => redis.hget(key, 'history'))) === isThere)
      return;
    let at = afterSeq;
    for (const group of groups) {
      await this.#appendGroup(ref, at, group, hasMore || group !== groups.at(-1));
      at += group.length;
    }
  }

  async #appendGroup(
    ref: SessionRef,
    afterSeq: number,
    group: readonly EncodedEvent[],
    hasMore: boolean,
  ): Promise<void> {
    const events = group.map(({ event }) => event);
    const last = events.at(-1);
    if (!last) return;
    const state = new Map(
      events.flatMap(({ actions }) => splitDelta(actions.stateDelta, 'the state delta').session),
    );
    const authors = new Map(
      events.map(({ author = '' }, at) => [author, String(afterSeq + at + 1)] as const),
    );
    const retention = this.#retention(ref.appName);
    const result = await this.#connection.script<1 | 'gone' | number>(
      ...callOf(this.#keys, appendHistoryScript, ref, {
        after: afterSeq,
        timestamp: last.timestamp,
        lastId: last.id,
        ttl: hasMore ? unfinishedTtl(retention) : (retention.sessionTtlMs ?? ''),
        history: group.map(({ json }) => json),
        sessionState: [...state].flat(),
        authors: [...authors].flat(),
      }),
    );
    if (result === 'gone') throw noSession(ref);
    if (result !== 1) throw historyGapError(ref, afterSeq, result);
  }

  async initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined> {
    const key = this.#keys.session(ref);
    const [seq, initial] = await this.#connection.read(key, (redis) => redis.hmget(key, 'seq', 'initial'));
    return seq == null ? undefined : JSON.parse(initial ?? '{}');
  }
}

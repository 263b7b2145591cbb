import type { Session } from '@agentmesh/agent';
import {
  elsewhere,
  type HistoryPart,
  type InvocationRef,
  type ReadEventsRequest,
  type SessionLog,
  type StoredEvent,
  type TurnNeed,
  type TurnSession,
} from '@agentmesh/agent/internal';
import { encodeToken, type Keys, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { AppState, Outbox } from './app-state.ts';
import {
  assertCount,
  type EncodedEvent,
  encodeEvent,
  inGroups,
  type LogEntry,
  type LogPart,
  storedEventOf,
} from './event-log.ts';
import type { RetentionOf } from './retention.ts';
import type { SessionPlace } from './session-place.ts';
import { appendHistoryScript, readScript, readTurnScript } from './session-scripts.ts';
import { scriptArgs, splitDelta, stateOf } from './state-delta.ts';

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

/** A session with a part of its log. */
type SessionPart = Omit<Session, 'events'> & { log: StoredEvent[] };

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
    const args = [Math.min(count, newestSize), afterSeq];
    const picture = this.#connection.script<Picture | null>(readScript, this.#pictureKeys(ref), args);
    return await this.#view(ref, picture, ({ seq }) => Math.max(afterSeq, seq - count));
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
  ): Promise<SessionPart | undefined> {
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

  async readEvents(request: ReadEventsRequest): Promise<StoredEvent[]> {
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

  async appendHistory(ref: SessionRef, { afterSeq, events }: HistoryPart): Promise<void> {
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

  async initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined> {
    const key = this.#keys.session(ref);
    const [seq, initial] = await this.#connection.run((redis) => redis.hmget(key, 'seq', 'initial'));
    return seq == null ? undefined : JSON.parse(initial ?? '{}');
  }
}

import type { Event, SessionRef } from '@agentmesh/protocol';
import { deepFreeze } from '../events/freeze.ts';
import { logIndex, noteUnread } from '../events/log-index.ts';
import type { InvocationRef } from './invocations.ts';
import { noteIncarnation, type Session, unreadBefore } from './session.ts';
import type { TurnNeed, TurnSession } from './session-log.ts';
import type { SessionService } from './session-service.ts';

export interface SessionCacheOptions {
  sessions: SessionService;
  /** Approximate maximum memory of all stored events, in bytes; default 64 MiB. 0 stores none. */
  maxBytes?: number;
  /** Called for each opened session; `isHit` says whether the events that the cache held were of use. */
  onOpen?: (isHit: boolean) => void;
}

/** The number of frozen events at the start of a list, and their size. */
interface Frozen {
  count: number;
  bytes: number;
  /** True if the events belong to the store, also those that are committed later. */
  areShared: boolean;
}

/**
 * Number of known events that are read again. These events show whether the store still holds the same log:
 * another session with the same id may have taken its place, or the log may have lost its end.
 */
const overlap = 1;

/**
 * Caches the events of the sessions that this process has worked on, so that the next turn reads only the
 * missing events. A wrong cache cannot make a turn wrong: cached events are compared with the store each
 * time, and dropped when they do not fit.
 *
 * A session is lent to one turn at a time; meanwhile other turns of the same session read the session from
 * the store. Cached events are frozen, because later turns share them.
 */
export class SessionCache {
  readonly #sessions: SessionService;
  readonly #maxBytes: number;
  readonly #onOpen: (isHit: boolean) => void;
  /** Least recently used first. */
  readonly #heads = new Map<string, Event[]>();
  readonly #frozen = new WeakMap<Event[], Frozen>();
  /** For each list: the number of the session's events before it, and the incarnation of the session. */
  readonly #lent = new WeakMap<Event[], { base: number; incarnation: string }>();
  #bytes = 0;

  constructor({ sessions, maxBytes = 64 * 1024 * 1024, onOpen = () => {} }: SessionCacheOptions) {
    this.#sessions = sessions;
    this.#maxBytes = maxBytes;
    this.#onOpen = onOpen;
  }

  /**
   * Returns the session for a turn of an invocation, or undefined. The state belongs to the caller; earlier
   * events are frozen.
   *
   * @param need the part of the log; default all
   */
  async open(ref: InvocationRef, need: TurnNeed = {}): Promise<Session | undefined> {
    const key = keyOf(ref);
    const events = this.#take(key);
    const continued = events && (await this.#continue(ref, need, events));
    if (continued) {
      this.#onOpen(true);
      return continued;
    }
    const turn = await this.#sessions.log.readTurn(ref, need);
    if (!turn) return undefined;
    const session = this.#lend(turn);
    if (!isEnough(session, need)) return await this.open(ref);
    this.#onOpen(false);
    return session;
  }

  /**
   * Returns the session with the events that other processes have committed since it was opened; the opened
   * object must not be used any more. Returns undefined when the session is gone or has been replaced by
   * another session: open it anew.
   */
  async refresh(session: Session): Promise<Session | undefined> {
    const { events, seq } = session;
    const all = { last: 0, fromSeq: unreadBefore(session) + 1 };
    const now = await this.#sessions.log.readTurn({ ...refOf(session), invocationId: '' }, all, seq);
    if (!now || !this.#isSame(now, events, seq)) return undefined;
    const news = now.session.events.slice(seq === 0 ? 0 : overlap);
    for (const event of news) events.push(event);
    this.#freeze(events);
    const isRewound = news.some(({ actions }) => actions.rewindBeforeInvocationId !== undefined);
    return isRewound && unreadBefore(session) > 0 ? undefined : { ...now.session, events };
  }

  /** Stores the events of a session for the next turn. The caller must not use the session any more. */
  keep(session: Session): void {
    const { events, seq } = session;
    const base = this.#lent.get(events)?.base ?? 0;
    // Events that user code has changed are of no use to other turns.
    if (this.#maxBytes === 0 || events.length === 0 || base + events.length !== seq) return;
    const key = keyOf(refOf(session));
    const cachedEvents = this.#heads.get(key);
    if (cachedEvents && this.#seqOf(cachedEvents) > seq) return;
    this.#take(key);
    const bytes = this.#freeze(events);
    if (bytes > this.#maxBytes) return;
    this.#heads.set(key, events);
    this.#bytes += bytes;
    for (const [oldest] of this.#heads) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#take(oldest);
    }
  }

  #take(key: string): Event[] | undefined {
    const events = this.#heads.get(key);
    if (!events) return undefined;
    this.#heads.delete(key);
    this.#bytes -= this.#frozen.get(events)?.bytes ?? 0;
    return events;
  }

  /** Freezes the new events and returns the size of all. */
  #freeze(events: Event[], areShared = false): number {
    const frozen = this.#frozen.get(events) ?? { count: 0, bytes: 0, areShared };
    for (let at = frozen.count; at < events.length; at += 1)
      frozen.bytes += indexBytes + (frozen.areShared ? 0 : deepFreeze(events[at]));
    frozen.count = events.length;
    this.#frozen.set(events, frozen);
    return frozen.bytes;
  }

  /**
   * Returns the current session on top of the cached events; undefined when the cached events belong to
   * another session, or are not all that is needed.
   */
  async #continue(ref: InvocationRef, need: TurnNeed, events: Event[]): Promise<Session | undefined> {
    const knownSeq = this.#seqOf(events);
    const turn = await this.#sessions.log.readTurn(ref, need, knownSeq);
    if (!turn) return undefined;
    const { session, firstSeq } = turn;
    // There are so many new events that no cached event is needed any more.
    if (firstSeq > knownSeq) {
      this.#lend(turn);
      return isEnough(session, need) ? session : undefined;
    }
    const base = knownSeq - events.length;
    if (firstSeq <= base || !this.#isSame(turn, events, knownSeq)) return undefined;
    for (const event of session.events.slice(overlap)) events.push(event);
    const unneeded = firstSeq - 1 - base;
    const isWorthIt = unneeded > Math.max(events.length / 2, leastTrimmed);
    const current = { ...session, events: isWorthIt ? events.slice(unneeded) : events };
    this.#lend({ ...turn, session: current });
    return isEnough(current, need) ? current : undefined;
  }

  #lend({ session, incarnation, sharesEvents }: TurnSession): Session {
    noteUnread(session.events, unreadBefore(session));
    noteIncarnation(session, incarnation);
    this.#freeze(session.events, sharesEvents);
    this.#lent.set(session.events, { base: unreadBefore(session), incarnation });
    return session;
  }

  /** Tells whether a list of events was read from this session, up to that number. */
  #isSame({ session, incarnation }: TurnSession, events: Event[], seq: number): boolean {
    const expected = this.#lent.get(events)?.incarnation ?? incarnation;
    if (incarnation !== expected || session.seq < seq) return false;
    return seq === 0 || isSame(session.events[0], events.at(-1));
  }

  #seqOf(events: Event[]): number {
    return (this.#lent.get(events)?.base ?? 0) + events.length;
  }
}

/** Minimum number of events to drop at once, because the remaining list has to be indexed again. */
const leastTrimmed = 500;

/** Approximate memory of an event in the index of its log and in prompts of one agent, in bytes, as measured. */
const indexBytes = 420;

/**
 * Tells whether a part of a log has enough visible events. When events in the part are rewound, the visible
 * events may be too few: then the whole log is read.
 */
function isEnough(session: Session, need: TurnNeed): boolean {
  const isAll = need.last === undefined && need.summaries === undefined;
  return isAll || unreadBefore(session) === 0 || !logIndex(session.events).hasHidden;
}

function isSame(one: Event | undefined, other: Event | undefined): boolean {
  return (
    one?.id === other?.id && one?.invocationId === other?.invocationId && one?.timestamp === other?.timestamp
  );
}

function refOf({ appName, userId, id: sessionId }: Session): SessionRef {
  return { appName, userId, sessionId };
}

function keyOf({ appName, userId, sessionId }: SessionRef): string {
  return JSON.stringify([appName, userId, sessionId]);
}

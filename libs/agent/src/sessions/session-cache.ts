import type { Event, SessionRef } from '@agentmesh/protocol';
import { deepFreeze } from '../events/freeze.ts';
import { logIndex, noteUnread } from '../events/log-index.ts';
import type { InvocationRef } from './invocations.ts';
import { type Session, unreadBefore } from './session.ts';
import type { TurnNeed, TurnSession } from './session-log.ts';
import type { SessionService } from './session-service.ts';

export interface SessionCacheOptions {
  sessions: SessionService;
  /** How much the events of all sessions that are kept may take, in bytes, roughly; default 64 MiB. 0 keeps none. */
  maxBytes?: number;
}

/** How many events of a list are frozen, from its start, and their size. */
interface Frozen {
  count: number;
  bytes: number;
}

/** How a session's log is told from an earlier one of the same name, or from one that lost its end: by its last event. */
const overlap = 1;

/**
 * Keeps the events of the sessions that this process has worked on, so that the next turn reads only what it lacks. Nothing here must be right
 * for a turn to be right: what was kept is compared with the store each time, and dropped when it does not fit.
 *
 * A session is lent: as long as one turn has it, others of the same session read it anew. Events that are kept are frozen, as they are shared by
 * the turns that come.
 */
export class SessionCache {
  readonly #sessions: SessionService;
  readonly #maxBytes: number;
  /** Least recently used first. */
  readonly #heads = new Map<string, Event[]>();
  readonly #frozen = new WeakMap<Event[], Frozen>();
  /** How many events of the session lie before those of a list, and which session of that id it is. */
  readonly #lent = new WeakMap<Event[], { base: number; incarnation: string }>();
  #bytes = 0;

  constructor({ sessions, maxBytes = 64 * 1024 * 1024 }: SessionCacheOptions) {
    this.#sessions = sessions;
    this.#maxBytes = maxBytes;
  }

  /**
   * The session for a turn of an invocation, or undefined. The state is the caller's own; the events that were there before are frozen.
   *
   * @param need how much of its log; default all
   */
  async open(ref: InvocationRef, need: TurnNeed = {}): Promise<Session | undefined> {
    const key = keyOf(ref);
    const events = this.#take(key);
    const known = events && (await this.#continue(ref, need, events));
    if (known) return known;
    const turn = await this.#sessions.log.readTurn(ref, need);
    if (!turn) return undefined;
    const session = this.#lend(turn);
    return isEnough(session, need) ? session : await this.open(ref);
  }

  /**
   * The session with what others have committed since it was opened; the object that was opened must not be used any more. Undefined when it is
   * gone, or is another one now: open it anew.
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

  /** Keeps the events of a session for the next turn. The caller must not use it any more. */
  keep(session: Session): void {
    const { events, seq } = session;
    const base = this.#lent.get(events)?.base ?? 0;
    // Changed by somebody's code it is of no use to others.
    if (this.#maxBytes === 0 || events.length === 0 || base + events.length !== seq) return;
    const key = keyOf(refOf(session));
    const known = this.#heads.get(key);
    if (known && this.#seqOf(known) > seq) return;
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

  /** Freezes what is new, and tells the size of all. */
  #freeze(events: Event[]): number {
    const { count, bytes } = this.#frozen.get(events) ?? { count: 0, bytes: 0 };
    let total = bytes;
    for (let at = count; at < events.length; at += 1) total += indexBytes + deepFreeze(events[at]);
    this.#frozen.set(events, { count: events.length, bytes: total });
    return total;
  }

  /** The session as it is now, on top of the events that are known; undefined where these are not its own, or not all that is needed. */
  async #continue(ref: InvocationRef, need: TurnNeed, events: Event[]): Promise<Session | undefined> {
    const known = this.#seqOf(events);
    const turn = await this.#sessions.log.readTurn(ref, need, known);
    if (!turn) return undefined;
    const { session, firstSeq } = turn;
    // So much was said meanwhile that nothing of what is known is needed any more.
    if (firstSeq > known) {
      this.#lend(turn);
      return isEnough(session, need) ? session : undefined;
    }
    const base = known - events.length;
    if (firstSeq <= base || !this.#isSame(turn, events, known)) return undefined;
    for (const event of session.events.slice(overlap)) events.push(event);
    const unneeded = firstSeq - 1 - base;
    const isWorthIt = unneeded > Math.max(events.length / 2, leastTrimmed);
    const current = { ...session, events: isWorthIt ? events.slice(unneeded) : events };
    this.#lend({ ...turn, session: current });
    return isEnough(current, need) ? current : undefined;
  }

  #lend({ session, incarnation }: TurnSession): Session {
    noteUnread(session.events, unreadBefore(session));
    this.#freeze(session.events);
    this.#lent.set(session.events, { base: unreadBefore(session), incarnation });
    return session;
  }

  /** Is it the session that a list of events was read from, up to that number? */
  #isSame({ session, incarnation }: TurnSession, events: Event[], seq: number): boolean {
    const known = this.#lent.get(events)?.incarnation ?? incarnation;
    if (incarnation !== known || session.seq < seq) return false;
    return seq === 0 || isSame(session.events[0], events.at(-1));
  }

  #seqOf(events: Event[]): number {
    return (this.#lent.get(events)?.base ?? 0) + events.length;
  }
}

/** So many events are let go at once, at least: what is known of the others must be found out anew. */
const leastTrimmed = 500;

/** What an event takes in the index of its log, in bytes; as measured, roughly. */
const indexBytes = 250;

/** Of a part in which something was rewound, less may count than is needed: then all is read. */
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

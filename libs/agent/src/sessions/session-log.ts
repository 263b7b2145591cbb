import { type Event, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { InvocationRef } from './invocations.ts';
import type { Session } from './session.ts';

/** An event with its number in the session, from 1, without a gap. */
export interface StoredEvent {
  seq: number;
  event: Event;
  /** Length of the stored event as JSON, in characters; only in the answer to a request with `maxChars`. */
  chars?: number;
}

/** A part of a session's log: the events with `afterSeq` < seq, `limit` at most (default 1,000). */
export interface ReadEventsRequest extends SessionRef {
  afterSeq?: number;
  limit?: number;
  /**
   * The answer ends before the event with which it would have more characters of JSON; it has one event at least,
   * which may be larger. Default: no limit.
   */
  maxChars?: number;
}

/**
 * The part of a session's log that a turn needs. Without `last` and `summaries` the part is the whole log;
 * with both, it is the longer of the two parts. It always includes the events of the turn's invocation, and
 * of the invocations that made the calls which the turn answers.
 */
export interface TurnNeed {
  /** Number of the last events. */
  last?: number;
  /** Agents whose last summary does not cover the needed events; '' for the summary of the app. */
  summaries?: readonly string[];
  /** Ids of the answered calls. */
  answers?: readonly string[];
  /** Authors; the last event of the author that spoke last is needed. */
  authors?: readonly string[];
  /** Number of the first needed event. */
  fromSeq?: number;
}

/** A session with the part of its log that a turn needs: its last events, without a gap. */
export interface TurnSession {
  session: Session;
  /** Number of the first needed event; at least 1. */
  firstSeq: number;
  /** Distinguishes the session from an earlier or later one with the same id. */
  incarnation: string;
  /** True if the events are frozen and belong to the store: they take no memory of the reader's. */
  sharesEvents?: boolean;
}

/** Imported events, and the number of the event that they follow. */
export interface HistoryPart {
  afterSeq: number;
  events: readonly Event[];
  /** True if another part follows: a store deletes the session an hour later unless it has come. */
  hasMore?: boolean;
}

/**
 * The events of a session by their numbers, and its initial state. The cost of reading depends on the result,
 * not on the length of the session.
 */
export interface SessionLog {
  /** Reads events in order. */
  readEvents(request: ReadEventsRequest): Promise<StoredEvent[]>;

  /**
   * Reads the session for a turn of an invocation, or returns undefined.
   *
   * @param knownSeq the last event that the reader has; only the needed events from this event on are
   * returned, including this event
   */
  readTurn(ref: InvocationRef, need: TurnNeed, knownSeq?: number): Promise<TurnSession | undefined>;

  /**
   * Appends imported events unchanged. Their changes of the session's own state are applied; changes of
   * `app:` and `user:` state stay in the log only. No call among them becomes pending. A repeated call
   * changes nothing, because `afterSeq` says where they belong.
   *
   * @throws MeshError `not_found` when the session is gone; `failed_precondition` when its last number is not
   * `afterSeq`; `invalid_argument` as `appendEvent`
   */
  appendHistory(ref: SessionRef, history: HistoryPart): Promise<void>;

  /**
   * Reads the state with which a session was created, without prefixes in its keys. Returns undefined for an
   * unknown session.
   */
  initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined>;
}

/**
 * Checks a number of events, or a sequence number.
 *
 * @throws MeshError `invalid_argument`
 */
export function assertCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new MeshError('invalid_argument', `${name} must be a whole number from 0, not ${value}`);
}

/** Checks that an event can be stored. @throws MeshError `invalid_argument` */
export function assertStorable({ id, timestamp }: Event): void {
  if (typeof id === 'string' && id !== '' && id.isWellFormed() && Number.isFinite(timestamp)) return;
  throw new MeshError('invalid_argument', 'an event needs an id and a timestamp in ms; use createEvent');
}

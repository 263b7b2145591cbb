import type { Event, SessionRef } from '@agentmesh/protocol';
import type { InvocationRef } from './invocations.ts';
import type { Session } from './session.ts';

/** An event with its number in the session, from 1, without a gap. */
export interface StoredEvent {
  seq: number;
  event: Event;
}

/** A part of a session's log: the events with `afterSeq` < seq, `limit` at most (default 1,000). */
export interface ReadEventsRequest extends SessionRef {
  afterSeq?: number;
  limit?: number;
}

/**
 * The part of a session's log that a turn needs. Without `last` and `summaries` all of it; with both, whichever is more. The events of the turn's
 * invocation, and of those that made the calls which it answers, are always among it: nothing that a turn follows from is missing.
 */
export interface TurnNeed {
  /** The last so many events. */
  last?: number;
  /** The events that the last summary of each of these agents does not stand for; '' for those of the app. */
  summaries?: readonly string[];
  /** Ids of calls that are answered. */
  answers?: readonly string[];
  /** The last event of whichever of these authors spoke last. */
  authors?: readonly string[];
  /** The events from this number on. */
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

/** Events of elsewhere, and the number of the event that they follow. */
export interface HistoryPart {
  afterSeq: number;
  events: readonly Event[];
}

/** The events of a session by their numbers, and the state before them. Reading costs what it returns, however long the session is. */
export interface SessionLog {
  /** Reads events in order. */
  readEvents(request: ReadEventsRequest): Promise<StoredEvent[]>;

  /**
   * Reads the session for a turn of an invocation, or undefined.
   *
   * @param knownSeq the last event that the reader has: of the events that are needed those from this one on are returned, itself among them
   */
  readTurn(ref: InvocationRef, need: TurnNeed, knownSeq?: number): Promise<TurnSession | undefined>;

  /**
   * Appends events of elsewhere, as they are. Their changes of the session's own state are made; those of `app:` and `user:` stay in the log alone. No call
   * among them waits. Done again it changes nothing: `afterSeq` says where they belong.
   *
   * @throws MeshError `not_found` when the session is gone; `failed_precondition` when it has come to another number; `invalid_argument` as `appendEvent`
   */
  appendHistory(ref: SessionRef, history: HistoryPart): Promise<void>;

  /** Reads the state that a session was created with: keys without prefix. Undefined for an unknown one. */
  initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined>;
}

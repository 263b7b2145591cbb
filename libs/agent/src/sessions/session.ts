import type { Event } from '@agentmesh/protocol';
import { deepFreeze } from '../events/freeze.ts';

/** One conversation. `state` holds all scopes, with the prefixes in the keys. */
export interface Session {
  id: string;
  appName: string;
  userId: string;
  state: Record<string, unknown>;
  events: Event[];
  /** Time of the last committed event, epoch ms. */
  lastUpdateTime: number;
  /** Sequence number of the last committed event that this object holds; 0 before the first. */
  seq: number;
}

/** Counts the events of a session that precede the loaded events: a turn may need only the last events. */
export function unreadBefore({ seq, events }: Session): number {
  return seq - events.length;
}

/** Adds an event to a session that lacks it alone. The event is frozen. */
export function addEvent(session: Session, { seq, event }: { seq: number; event: Event }): void {
  deepFreeze(event);
  session.events.push(event);
  session.seq = seq;
  session.lastUpdateTime = event.timestamp;
}

const incarnation = Symbol('incarnation');

interface Marked {
  [incarnation]?: string;
}

/** Notes for a store which session it has read: another session may get the same id later. */
export function noteIncarnation(session: Session, mark: string): Session {
  // Copies of the object have none, and nobody lists it.
  return Object.defineProperty(session, incarnation, { value: mark, configurable: true });
}

/**
 * Returns the mark that distinguishes a session from an earlier or later one with the same id; undefined for
 * a session that no store has returned.
 */
export function incarnationOf(session: Session & Marked): string | undefined {
  return Object.hasOwn(session, incarnation) ? session[incarnation] : undefined;
}

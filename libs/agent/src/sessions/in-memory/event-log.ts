import { type Event, type JsonEntry, jsonEntries, keptJson, MeshError, toJson } from '@agentmesh/protocol';
import { deepFreeze } from '../../events/freeze.ts';
import { scopeOf } from '../../events/state.ts';
import type { Session } from '../session.ts';
import type { GetSessionConfig } from '../session-service.ts';

/** Key → JSON. Text, so that no caller ever holds what is stored. */
export type JsonMap = Map<string, string>;

/** The event as it is stored, without `temp:` keys; and its delta, with them. */
export function readEvent(event: Event): { json: string; delta: JsonEntry[] } {
  const { id, timestamp, actions } = event;
  if (typeof id !== 'string' || id === '' || !id.isWellFormed() || !Number.isFinite(timestamp)) {
    throw new MeshError('invalid_argument', 'an event needs an id and a timestamp in ms; use createEvent');
  }
  const delta = jsonEntries(actions.stateDelta, 'the state delta');
  const lasting = Object.entries(actions.stateDelta).filter(([key]) => scopeOf(key) !== 'temp');
  const stored = { ...event, actions: { ...actions, stateDelta: Object.fromEntries(lasting) } };
  return { json: keptJson('event', toJson(stored, 'the event')), delta };
}

/** Adds what the session object does not know yet: the events that others committed meanwhile, and its own with `delta`. */
export function bringUpToDate(session: Session, missed: Event[], delta: JsonEntry[]): void {
  for (const event of missed) {
    deepFreeze(event);
    session.events.push(event);
    session.seq += 1;
    session.lastUpdateTime = event.timestamp;
    assign(session.state, jsonEntries(event.actions.stateDelta, 'the stored delta'));
  }
  assign(
    session.state,
    delta.filter(([key]) => scopeOf(key) === 'temp'),
  );
}

/** Own properties even for keys that an assignment treats specially (`__proto__`); values of its own. */
export function assign(state: Record<string, unknown>, entries: JsonEntry[]): void {
  for (const [key, json] of entries) {
    const value: unknown = JSON.parse(json);
    Object.defineProperty(state, key, { value, enumerable: true, configurable: true, writable: true });
  }
}

export function withPrefix(prefix: string, map: JsonMap = new Map()): Record<string, unknown> {
  return Object.fromEntries([...map].map(([key, json]) => [prefix + key, JSON.parse(json)]));
}

export function parseEvent(json: string): Event {
  return JSON.parse(json) as Event;
}

/** Takes the events that a reader wants out of a log of JSON. */
export function eventReader({ numRecentEvents, afterTimestamp, afterSeq = 0 }: GetSessionConfig = {}) {
  if (numRecentEvents !== undefined) assertCount('numRecentEvents', numRecentEvents);
  assertCount('afterSeq', afterSeq);
  const lastOf = <T>(all: readonly T[], from = 0) =>
    all.slice(numRecentEvents === undefined ? from : Math.max(from, all.length - numRecentEvents));
  return (log: readonly string[]): Event[] => {
    if (afterTimestamp === undefined) return lastOf(log, afterSeq).map(parseEvent);
    const since = log.slice(afterSeq).map(parseEvent);
    return lastOf(since.filter(({ timestamp }) => timestamp >= afterTimestamp));
  };
}

export function assertCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new MeshError('invalid_argument', `${name} must be a whole number from 0, not ${value}`);
}

/** The error for a session object that is ahead of the store. */
export function notTheSame(id: string): MeshError {
  const why = 'it was deleted and another has its id, or the store lost its last events';
  return new MeshError('not_found', `session ${id} is not the one that was read: ${why}; read it again`);
}

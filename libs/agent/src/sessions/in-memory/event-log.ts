import { type Event, type JsonEntry, jsonEntries, keptJson, toJson } from '@agentmesh/protocol';
import { deepFreeze } from '../../events/freeze.ts';
import { scopeOf } from '../../events/state.ts';
import type { Session } from '../session.ts';
import { assertCount, assertStorable } from '../session-log.ts';
import type { GetSessionConfig } from '../session-service.ts';

/** Values as JSON text by key. Callers never get the stored objects themselves. */
export type JsonMap = Map<string, string>;

/** Returns the event as it is stored, without `temp:` keys, and its delta with them. */
export function readEvent(event: Event): { json: string; delta: JsonEntry[] } {
  assertStorable(event);
  const { actions } = event;
  const delta = jsonEntries(actions.stateDelta, 'the state delta');
  const lasting = Object.entries(actions.stateDelta).filter(([key]) => scopeOf(key) !== 'temp');
  const stored = { ...event, actions: { ...actions, stateDelta: Object.fromEntries(lasting) } };
  return { json: keptJson('event', toJson(stored, 'the event')), delta };
}

/**
 * Adds to the session object the events that it lacks: the events that other callers have committed, and the
 * caller's event with `delta`.
 */
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

/**
 * Sets entries as own properties, even for keys that an assignment treats specially (`__proto__`). Each value
 * is a copy.
 */
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

/** Makes a reader that selects the requested events from a log of JSON. */
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

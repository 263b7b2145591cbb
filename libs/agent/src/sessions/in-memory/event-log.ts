import { type Event, type JsonEntry, jsonEntries, keptJson } from '@agentmesh/protocol';
import { copyJson } from '../../events/copy-json.ts';
import { frozenJson } from '../../events/frozen-json.ts';
import { scopeOf } from '../../events/state.ts';
import type { Session } from '../session.ts';
import { assertCount, assertStorable } from '../session-log.ts';
import type { GetSessionConfig } from '../session-service.ts';

/** Values as JSON text by key. Callers never get the stored objects themselves. */
export type JsonMap = Map<string, string>;

/** The events of a session. They are frozen: turns share them, and copies go to callers. */
export type EventLog = Event[];

/**
 * Returns the event as it is stored, frozen and without `temp:` keys, and its delta with them.
 *
 * @throws MeshError `invalid_argument` for an event that JSON cannot hold, or that is too large
 */
export function readEvent(event: Event): { stored: Event; delta: JsonEntry[] } {
  assertStorable(event);
  const { stateDelta } = event.actions;
  const delta = jsonEntries(stateDelta, 'the state delta');
  const { copy: stored, maxBytes } = frozenJson(withoutTemp(event, stateDelta), 'the event');
  if (maxBytes > uncountedBytes) keptJson('event', JSON.stringify(stored));
  return { stored, delta };
}

/** An event whose JSON is surely smaller is not measured, in bytes. */
const uncountedBytes = 1024 * 1024;

function withoutTemp(event: Event, stateDelta: Record<string, unknown>): Event {
  const entries = Object.entries(stateDelta);
  const lasting = entries.filter(([key]) => scopeOf(key) !== 'temp');
  if (lasting.length === entries.length) return event;
  return { ...event, actions: { ...event.actions, stateDelta: Object.fromEntries(lasting) } };
}

/**
 * Adds to the session object the events that it lacks: the events that other callers have committed, and the
 * caller's event with `delta`. The events are frozen.
 */
export function bringUpToDate(session: Session, missed: readonly Event[], delta: JsonEntry[]): void {
  for (const event of missed) {
    session.events.push(event);
    session.seq += 1;
    session.lastUpdateTime = event.timestamp;
    assign(session.state, jsonEntries(event.actions.stateDelta, 'the stored delta'));
  }
  if (delta.length === 0) return;
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

export function withPrefix(prefix: string, map: JsonMap | undefined): Record<string, unknown> {
  if (!map || map.size === 0) return {};
  return Object.fromEntries([...map].map(([key, json]) => [prefix + key, JSON.parse(json)]));
}

/** Makes a reader that copies the requested events of a log. */
export function eventReader({ numRecentEvents, afterTimestamp, afterSeq = 0 }: GetSessionConfig = {}) {
  if (numRecentEvents !== undefined) assertCount('numRecentEvents', numRecentEvents);
  assertCount('afterSeq', afterSeq);
  const lastOf = <T>(all: readonly T[], from = 0) =>
    all.slice(numRecentEvents === undefined ? from : Math.max(from, all.length - numRecentEvents));
  return (log: readonly Event[]): Event[] => {
    if (afterTimestamp === undefined) return lastOf(log, afterSeq).map(copyJson);
    const since = log.slice(afterSeq).filter(({ timestamp }) => timestamp >= afterTimestamp);
    return lastOf(since).map(copyJson);
  };
}

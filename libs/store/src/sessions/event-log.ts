import type { GetSessionConfig, Session } from '@agentmesh/agent';
import {
  addEvent,
  assertCount,
  assertStorable,
  pickScopes,
  type StoredEvent,
} from '@agentmesh/agent/internal';
import { type Event, type EventActions, keptJson, toJson } from '@agentmesh/protocol';
import { assignDelta } from './state-delta.ts';

/** An entry of the stream as Redis returns it: `0-<seq>` and the fields. */
export type LogEntry = [id: string, fields: string[]];

export function storedEventOf([id, fields]: LogEntry): StoredEvent {
  return { seq: Number(id.slice('0-'.length)), event: decodeEvent(fields[1] ?? '') };
}

/** Maps that every event has; empty maps are not stored. */
const emptyActions = (): EventActions => ({
  stateDelta: {},
  artifactDelta: {},
  requestedAuthConfigs: {},
  requestedToolConfirmations: {},
});

/**
 * Returns the stored form of an event: JSON without `temp:` keys, and without the empty maps of its actions.
 *
 * @throws MeshError `invalid_argument`
 */
export function encodeEvent(event: Event): string {
  assertStorable(event);
  const { actions } = event;
  const stateDelta = pickScopes(actions.stateDelta, ['app', 'user', 'session']);
  const entries = Object.entries({ ...actions, stateDelta });
  const entriesToStore = entries.filter(([name, value]) => !(name in emptyActions()) || !isEmpty(value));
  const { actions: _all, ...rest } = event;
  const stored =
    entriesToStore.length === 0 ? rest : { ...rest, actions: Object.fromEntries(entriesToStore) };
  return keptJson('event', toJson(stored, 'the event'));
}

/** An event and its stored form. */
export interface EncodedEvent {
  event: Event;
  json: string;
}

/** Longest text that goes to Redis at once, in characters: Redis answers nobody else meanwhile. */
const longestGroup = 4 * 1024 * 1024;

/**
 * Returns the events in order, in groups that are small enough for one write; a large event is a group of its
 * own.
 */
export function inGroups(events: readonly EncodedEvent[]): EncodedEvent[][] {
  const groups: EncodedEvent[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const each of events) {
    length += each.json.length;
    if (length > longestGroup) {
      groups.push([]);
      length = each.json.length;
    }
    groups.at(-1)?.push(each);
  }
  return groups;
}

/** Returns the event of its stored form. */
export function decodeEvent(json: string): Event {
  const event = JSON.parse(json) as Omit<Event, 'actions'> & { actions?: Partial<EventActions> };
  return { ...event, actions: { ...emptyActions(), ...event.actions } };
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/**
 * The part of a log that a reader wants: the number of last events, and the number after which they begin.
 */
export interface LogPart {
  count: number;
  afterSeq: number;
}

/**
 * Returns the part of the log that a request needs. Timestamps are set by authors and in no order, so a
 * request by time needs all events. @throws MeshError `invalid_argument`
 */
export function logPart({ numRecentEvents, afterTimestamp, afterSeq = 0 }: GetSessionConfig): LogPart {
  if (numRecentEvents !== undefined) assertCount('numRecentEvents', numRecentEvents);
  assertCount('afterSeq', afterSeq);
  const count = afterTimestamp === undefined ? numRecentEvents : undefined;
  return { count: count ?? Number.MAX_SAFE_INTEGER, afterSeq };
}

/** Returns the wanted events of a part of the log, in order. */
export function chooseEvents(
  log: StoredEvent[],
  { numRecentEvents, afterTimestamp = Number.NEGATIVE_INFINITY }: GetSessionConfig,
): Event[] {
  const events = log.map(({ event }) => event).filter(({ timestamp }) => timestamp >= afterTimestamp);
  return numRecentEvents === undefined ? events : events.slice(Math.max(0, events.length - numRecentEvents));
}

/**
 * Adds the events that the session object lacks, including events that it committed itself. Returns whether
 * there were any.
 */
export function bringUpToDate(session: Session, events: StoredEvent[]): boolean {
  // Another call may have added some while these were read.
  const news = events.filter(({ seq }) => seq > session.seq);
  for (const each of news) {
    addEvent(session, each);
    assignDelta(session.state, each.event.actions.stateDelta);
  }
  return news.length > 0;
}

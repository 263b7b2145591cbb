import { isDeepStrictEqual } from 'node:util';
import type { SessionRef } from '@agentmesh/protocol';
import { type Found, nameOf, type SessionHistory, type Violation } from './history.ts';
import { eventsOnce, withoutGap } from './rules/log-rules.ts';
import { stateIsSum } from './rules/state-is-sum.ts';

/** One delta that a writer tried to commit. No two deltas write the same value to the same key. */
export interface DeltaWrite {
  session: SessionRef;
  eventId: string;
  delta: Record<string, unknown>;
  /** The time of the first try, in ms of a clock that all writers share. */
  begun: number;
  /**
   * The time of the store's acknowledgement; absent when there was none: then the delta may be committed or
   * not.
   */
  acknowledged?: number;
}

/** All writes, and the sessions after the last of them. */
export interface DeltaHistory {
  writes: DeltaWrite[];
  sessions: SessionHistory[];
}

const rules: Record<string, (history: DeltaHistory) => Found[]> = {
  'without-gap': withoutGap,
  'events-once': eventsOnce,
  'state-is-sum': stateIsSum,
  'delta-lost': deltaLost,
  'delta-from-nowhere': deltaFromNowhere,
  'in-order': inOrder,
  'newest-wins': newestWins,
  'same-for-all': sameForAll,
};

/**
 * Returns all deltas that were lost, doubled, changed or overwritten a later one; none when the store kept
 * its acknowledgements.
 */
export function checkDeltas(history: DeltaHistory): Violation[] {
  return Object.entries(rules).flatMap(([rule, find]) => find(history).map((found) => ({ rule, ...found })));
}

const byId = (writes: readonly DeltaWrite[]) => new Map(writes.map((write) => [write.eventId, write]));

/** Finds acknowledged deltas that are missing from the log of their session. */
function deltaLost({ writes, sessions }: DeltaHistory): Found[] {
  const logs = new Map(
    sessions.map((session) => [nameOf(session), new Set(session.events.map(({ event }) => event.id))]),
  );
  return writes
    .filter(({ acknowledged }) => acknowledged !== undefined)
    .filter(({ session, eventId }) => !logs.get(nameOf(session))?.has(eventId))
    .map(({ session, eventId }) => ({
      session: nameOf(session),
      what: `event ${eventId} was acknowledged and is not in the log`,
    }));
}

/** Finds events in a log that were not written there, or not in this form. */
function deltaFromNowhere({ writes, sessions }: DeltaHistory): Found[] {
  const written = byId(writes);
  return sessions.flatMap((session) =>
    session.events
      .filter(({ event }) => {
        const write = written.get(event.id);
        const same = write && isDeepStrictEqual(write.delta, event.actions.stateDelta);
        return !same || nameOf(write.session) !== nameOf(session);
      })
      .map(({ seq, event }) => ({
        session: nameOf(session),
        what: `event ${seq}, ${event.id}, is not what was written`,
      })),
  );
}

/**
 * Finds writes in the wrong order: a write acknowledged before another one began must be before it in the
 * log.
 */
function inOrder({ writes, sessions }: DeltaHistory): Found[] {
  const written = byId(writes);
  return sessions.flatMap((session) => {
    let newest: DeltaWrite | undefined;
    return session.events.flatMap(({ event }): Found[] => {
      const write = written.get(event.id);
      if (!write) return [];
      const before = newest;
      if (!newest || write.begun > newest.begun) newest = write;
      if (!before || (write.acknowledged ?? Number.POSITIVE_INFINITY) >= before.begun) return [];
      const what = `event ${event.id} was acknowledged before ${before.eventId} began, and comes after it`;
      return [{ session: nameOf(session), what }];
    });
  });
}

const scopeOf = (key: string, { appName, userId }: SessionRef) => {
  if (key.startsWith('app:')) return appName;
  return key.startsWith('user:') ? `${appName}/${userId}` : undefined;
};

/**
 * Finds shared values that are too old: no other write of the key may have begun after the end of the write
 * of the value.
 */
function newestWins({ writes, sessions }: DeltaHistory): Found[] {
  const inLog = new Set(sessions.flatMap(({ events }) => events.map(({ event }) => event.id)));
  const ofKey = Map.groupBy(
    writes.flatMap((write) => Object.keys(write.delta).map((key) => ({ key, write }))),
    ({ key, write }) => `${scopeOf(key, write.session)} ${key}`,
  );
  return [...ofKey.values()].flatMap((all): Found[] => {
    const [first] = all;
    const scope = first && scopeOf(first.key, first.write.session);
    const reader = sessions.find((session) => first && scope === scopeOf(first.key, session));
    if (!first || scope === undefined || !reader) return [];
    const { key } = first;
    const value = reader.state[key];
    const winner = all.find(({ write }) => isDeepStrictEqual(write.delta[key], value))?.write;
    const about = { session: nameOf(reader), what: `state ${key} is ${JSON.stringify(value)}` };
    if (!winner || !inLog.has(winner.eventId))
      return [{ ...about, what: `${about.what}, which is in no log` }];
    const over = winner.acknowledged ?? Number.POSITIVE_INFINITY;
    const later = all.find(({ write }) => write.acknowledged !== undefined && write.begun > over)?.write;
    if (!later) return [];
    return [{ ...about, what: `${about.what}, and ${later.eventId} was written after that` }];
  });
}

/** Finds shared values that differ between sessions. */
function sameForAll({ sessions }: DeltaHistory): Found[] {
  const seen = new Map<string, unknown>();
  return sessions.flatMap((session) =>
    Object.entries(session.state).flatMap(([key, value]): Found[] => {
      const scope = scopeOf(key, session);
      if (scope === undefined) return [];
      const place = `${scope} ${key}`;
      if (!seen.has(place)) seen.set(place, value);
      if (isDeepStrictEqual(seen.get(place), value)) return [];
      return [{ session: nameOf(session), what: `state ${key} is not what another session sees` }];
    }),
  );
}

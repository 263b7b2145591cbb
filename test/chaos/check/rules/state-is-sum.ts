import { isDeepStrictEqual } from 'node:util';
import type { SessionRef } from '@agentmesh/protocol';
import { type Found, type History, nameOf, type SessionHistory } from '../history.ts';

/** Returns the app or the user whose sessions share a key. */
const scopeOf = (key: string, { appName, userId }: SessionRef) =>
  key.startsWith('app:') ? appName : `${appName}/${userId}`;

const isShared = (key: string) => key.startsWith('app:') || key.startsWith('user:');

/** The logs, and the acts that may have deleted some of them. */
type Logs = Pick<History, 'sessions'> & Partial<Pick<History, 'acts'>>;

/**
 * Finds wrong state. A session's own state must be the sum of its initial state and its events' deltas. The
 * value of a key that sessions share must be the last one of a session that wrote the key, since the logs
 * give no order between sessions. A deleted session may have written any value.
 */
export function stateIsSum({ sessions, acts = [] }: Logs): Found[] {
  const deleted = acts.flatMap(({ kind, session }) => (kind === 'delete' ? [session] : []));
  return [...sessions.flatMap(ownState), ...sharedState(sessions, deleted)];
}

function ownState(session: SessionHistory): Found[] {
  const { initialState, state, events } = session;
  const expected = { ...initialState };
  for (const { event } of events) Object.assign(expected, event.actions.stateDelta);
  const known =
    initialState === undefined
      ? Object.keys(expected)
      : [...new Set([...Object.keys(expected), ...Object.keys(state)])];
  return known
    .filter((key) => !isShared(key) && !isDeepStrictEqual(state[key], expected[key]))
    .map((key) => ({
      session: nameOf(session),
      what: `state ${key} is ${JSON.stringify(state[key])}, and its deltas make ${JSON.stringify(expected[key])}`,
    }));
}

function sharedState(sessions: readonly SessionHistory[], deleted: readonly SessionRef[]): Found[] {
  const writes = new Map<string, { session: SessionHistory; key: string; value: unknown }[]>();
  for (const session of sessions) {
    const last: Record<string, unknown> = {};
    for (const { event } of session.events) Object.assign(last, event.actions.stateDelta);
    for (const [key, value] of Object.entries(last).filter(([name]) => isShared(name))) {
      const place = `${scopeOf(key, session)} ${key}`;
      writes.set(place, [...(writes.get(place) ?? []), { session, key, value }]);
    }
  }
  return [...writes.values()].flatMap((written) => {
    const [first] = written;
    if (!first) return [];
    const { session, key } = first;
    const isAnyones = deleted.some((ref) => scopeOf(key, ref) === scopeOf(key, session));
    if (isAnyones || written.some(({ value }) => isDeepStrictEqual(value, session.state[key]))) return [];
    const what = `state ${key} is ${JSON.stringify(session.state[key])}, which none of its ${written.length} writers wrote last`;
    return [{ session: nameOf(session), what }];
  });
}

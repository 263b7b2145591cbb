import { isDeepStrictEqual } from 'node:util';
import type { SessionRef } from '@agentmesh/protocol';
import { type Found, type History, nameOf, type SessionHistory } from '../history.ts';

const isShared = (key: string) => key.startsWith('app:') || key.startsWith('user:');

/**
 * Finds wrong state. A session's own state must be the sum of its initial state and its events' deltas. The
 * value of a key that sessions share must be the last one of a session that wrote the key, since the logs
 * give no order between sessions.
 */
export function stateIsSum({
  sessions,
  acts = [],
}: Pick<History, 'sessions'> & Partial<Pick<History, 'acts'>>): Found[] {
  // The log of a deleted session is gone, and the state that it shared with other sessions stays.
  const deletions = acts.filter(({ kind, outcome }) => kind === 'delete' && outcome !== 'refused');
  const users = new Set(deletions.map(({ session }) => userOf(session)));
  const apps = new Set(deletions.map(({ session }) => session.appName));
  const isKnown = (key: string, session: SessionRef) =>
    key.startsWith('app:') ? !apps.has(session.appName) : !users.has(userOf(session));
  return [...sessions.flatMap(ownState), ...sharedState(sessions, isKnown)];
}

const userOf = ({ appName, userId }: SessionRef) => `${appName}/${userId}`;

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

function sharedState(
  sessions: readonly SessionHistory[],
  isKnown: (key: string, session: SessionRef) => boolean,
): Found[] {
  const writes = new Map<string, { session: SessionHistory; key: string; value: unknown }[]>();
  for (const session of sessions) {
    const last: Record<string, unknown> = {};
    for (const { event } of session.events) Object.assign(last, event.actions.stateDelta);
    const shared = Object.entries(last).filter(([name]) => isShared(name) && isKnown(name, session));
    for (const [key, value] of shared) {
      const scope = key.startsWith('app:') ? session.appName : `${session.appName}/${session.userId}`;
      const place = `${scope} ${key}`;
      writes.set(place, [...(writes.get(place) ?? []), { session, key, value }]);
    }
  }
  return [...writes.values()].flatMap((written) => {
    const [first] = written;
    if (!first) return [];
    const { session, key } = first;
    if (written.some(({ value }) => isDeepStrictEqual(value, session.state[key]))) return [];
    const what = `state ${key} is ${JSON.stringify(session.state[key])}, which none of its ${written.length} writers wrote last`;
    return [{ session: nameOf(session), what }];
  });
}

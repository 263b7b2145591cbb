import { createEvent } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { checkDeltas, type DeltaHistory, type DeltaWrite } from './deltas.ts';

const ann = { appName: 'app', userId: 'ann' };
const one = { ...ann, sessionId: 'one' };
const two = { ...ann, sessionId: 'two' };

const write = (session: typeof one, n: number): DeltaWrite => ({
  session,
  eventId: `e${n}`,
  delta: { last: `v${n}`, 'user:last': `v${n}`, 'app:last': `v${n}` },
  begun: 10 * n,
  acknowledged: 10 * n + 5,
});

const stored = ({ eventId, delta }: DeltaWrite, seq: number) => {
  const none = { artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} };
  return {
    seq,
    event: createEvent({
      id: eventId,
      invocationId: 'i',
      author: 'a',
      actions: { ...none, stateDelta: delta },
    }),
  };
};

/** Makes a correct history: two sessions of one user, with two writes each, one after the other. */
function good(): DeltaHistory {
  const writes = [write(one, 1), write(two, 2), write(one, 3), write(two, 4)];
  const shared = { 'user:last': 'v4', 'app:last': 'v4' };
  const sessionOf = (ref: typeof one, last: string) => ({
    ...ref,
    events: writes.filter(({ session }) => session === ref).map((each, at) => stored(each, at + 1)),
    state: { ...shared, last },
    initialState: {},
    pending: [],
  });
  return { writes, sessions: [sessionOf(one, 'v3'), sessionOf(two, 'v4')] };
}

/** Checks the correct history after a change. */
function spoilt(spoil: (history: DeltaHistory) => void): string[] {
  const history = good();
  spoil(history);
  return [...new Set(checkDeltas(history).map(({ rule }) => rule))];
}

/** Return a session or a write of the history. */
const session = ({ sessions }: DeltaHistory, at: number) => sessions[at] ?? expect.fail();
const written = ({ writes }: DeltaHistory, at: number) => writes[at] ?? expect.fail();

it('finds nothing when no delta was lost or doubled', () => {
  expect(checkDeltas(good())).toEqual([]);
});

it.each<[string, string[], (history: DeltaHistory) => void]>([
  ['a lost delta', ['state-is-sum', 'delta-lost'], (history) => session(history, 0).events.pop()],
  [
    'a lost delta behind which the numbers go on',
    ['without-gap', 'delta-lost'],
    (history) => session(history, 0).events.shift(),
  ],
  [
    'a doubled delta',
    ['events-once'],
    (history) => session(history, 0).events.push(stored(written(history, 2), 3)),
  ],
  [
    'a delta that went to the wrong session, too',
    ['events-once', 'state-is-sum', 'delta-from-nowhere', 'in-order'],
    (history) => session(history, 1).events.push(stored(written(history, 0), 3)),
  ],
  [
    'a delta that came to life again in shared state',
    ['newest-wins'],
    (history) => {
      for (const { state } of history.sessions) state['app:last'] = 'v3';
    },
  ],
  [
    'a write that is in shared state and in no log',
    ['state-is-sum', 'delta-lost', 'newest-wins'],
    (history) => {
      history.writes.push(write(two, 5));
      for (const { state } of history.sessions) state['user:last'] = 'v5';
    },
  ],
  [
    'deltas in another order than they were acknowledged in',
    ['state-is-sum', 'in-order'],
    (history) => {
      const { events } = session(history, 0);
      events.reverse();
      for (const [at, event] of events.entries()) event.seq = at + 1;
    },
  ],
  [
    'sessions that see different things',
    ['same-for-all'],
    (history) => {
      session(history, 1).state['user:last'] = 'v3';
    },
  ],
  [
    'a delta that is not what was written',
    ['state-is-sum', 'delta-from-nowhere'],
    (history) => {
      const [first] = session(history, 0).events;
      if (first) first.event.actions.stateDelta = { other: 1 };
    },
  ],
])('reports %s', (_what, broken, spoil) => {
  expect(spoilt(spoil)).toEqual(broken);
});

it('accepts an unacknowledged write whether it was stored or not', () => {
  const history = good();
  const unknown: DeltaWrite = { ...write(two, 5) };
  delete unknown.acknowledged;
  history.writes.push(unknown);
  expect(checkDeltas(history)).toEqual([]);
  session(history, 1).events.push(stored(unknown, 3));
  for (const { state } of history.sessions) Object.assign(state, { 'user:last': 'v5', 'app:last': 'v5' });
  session(history, 1).state.last = 'v5';
  expect(checkDeltas(history)).toEqual([]);
});

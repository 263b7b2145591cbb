import { describe, expect, it } from 'vitest';
import {
  answered,
  asked,
  called,
  ended,
  goodHistory,
  historyOf,
  invocationId,
  ref,
  said,
  sessionOf,
} from './hand-made.fixture.ts';
import type { History } from './old-history.ts';
import { check, rules } from './rules.ts';

const found = (history: History) => check(history).map(({ rule, what }) => `${rule}: ${what}`);
const [invocation] = goodHistory().invocations;
if (!invocation) throw new Error('the good history has no invocation');

describe('the checker', () => {
  it('finds nothing in a history that keeps all rules', () => {
    expect(check(goodHistory())).toEqual([]);
  });

  it('names rule, session and invocation', () => {
    const [violation] = check({ ...goodHistory(), invocations: [{ ...invocation, status: 'running' }] });
    expect(violation).toEqual({
      rule: 'ended-once',
      session: 'app/u/s',
      invocationId,
      what: 'it has not ended',
    });
    expect(Object.keys(rules)).toHaveLength(7);
  });
});

describe('ended-once', () => {
  const good = [asked(), called(), answered()];
  it.each<[string, History]>([
    [
      'ended-once: it has not ended',
      { ...goodHistory(), invocations: [{ ...invocation, status: 'running' }] },
    ],
    ['ended-once: it ended 2 times: events 4, 5', historyOf([...good, ended('a'), ended('b')])],
    [
      'ended-once: event 6 comes after the last word, 4',
      historyOf([...good, ended(), called('c2'), answered('c2')]),
    ],
    ['ended-once: it ended without a last word', historyOf(good)],
    [
      'ended-once: it ended 2 times on branch p.a: events 4, 5',
      historyOf([...good, ended('a', { branch: 'p.a' }), ended('b', { branch: 'p.a' })]),
    ],
  ])('reports: %s', (what, history) => {
    expect(found(history)).toContain(what);
  });

  it('reports a lost invocation that was acknowledged, and accepts a lost one that was not', () => {
    const history = { ...historyOf([]), executions: [], counted: [] };
    expect(found(history)).toEqual(['ended-once: it was acknowledged and nothing of it is in the log']);
    expect(
      found({
        ...history,
        invocations: [
          { ...invocation, acknowledged: false, client: { seen: [], finished: false, reconnects: 0 } },
        ],
      }),
    ).toEqual([]);
  });

  it('accepts an end for each parallel branch, and a failure as the end', () => {
    expect(found(historyOf([...good, ended('a', { branch: 'p.a' }), ended('b', { branch: 'p.b' })]))).toEqual(
      [],
    );
    const failed = historyOf([
      ...good,
      said('e-1/failure', { content: undefined, errorCode: 'internal' } as never),
    ]);
    expect(
      found({
        ...failed,
        invocations: failed.invocations.map((each) => ({ ...each, status: 'failed' as const })),
      }),
    ).toEqual([]);
  });

  it('checks the sessions of calls too', () => {
    const history = goodHistory();
    const child = sessionOf([{ ...asked(), id: 'q2' }, ended('x'), ended('y')], {
      sessionId: 'c1',
      callId: 'c1',
    });
    expect(found({ ...history, sessions: [...history.sessions, child] })).toEqual([
      'ended-once: it ended 2 times: events 2, 3',
    ]);
  });
});

describe('the log', () => {
  it('without-gap: reports a number that is missing or repeated', () => {
    const history = goodHistory();
    const [session] = history.sessions;
    for (const seq of [3, 1]) {
      const events = (session?.events ?? []).map((each, at) => (at === 1 ? { ...each, seq } : each));
      expect(found({ ...history, sessions: [{ ...ref, state: {}, events }] })).toEqual([
        `without-gap: event 2 of the log has the number ${seq}`,
      ]);
    }
  });

  it('events-once: reports a repeated id, in one session or in two', () => {
    const twice = historyOf([
      asked(),
      called(),
      answered(),
      said('call c1', { content: { role: 'model', parts: [] } }),
      ended(),
    ]);
    expect(found(twice)).toEqual(['events-once: event id call c1 is at app/u/s 2 and at app/u/s 4']);
    const history = goodHistory();
    const other = sessionOf([ended()], { sessionId: 'other' });
    expect(found({ ...history, sessions: [...history.sessions, other] })).toEqual([
      'events-once: event id end is at app/u/s 4 and at app/u/other 1',
    ]);
  });
});

describe('tools', () => {
  it('one-response: reports a missing response, a second one, and one without a call', () => {
    const none = historyOf([asked(), called(), ended()]);
    expect(found(none)).toEqual(['one-response: call c1 of count has 0 responses']);
    const two = historyOf([asked(), called(), answered(), answered('c1', { id: 'again' }), ended()]);
    expect(found(two)).toEqual(['one-response: call c1 of count has 2 responses']);
    const stray = historyOf([asked(), called(), answered(), answered('c9'), ended()]);
    expect(found(stray)).toEqual(['one-response: event 4 answers call c9, which is not in the log']);
  });

  it('one-response: accepts open calls of an agent used as a tool when its caller got a failure', () => {
    const child = sessionOf([said('asked c1'), called('c2')], { sessionId: 'c1', callId: 'c1' });
    const open = 'one-response: call c2 of count has 0 responses';
    const told = (response: Record<string, unknown>) => {
      const result = { functionResponse: { id: 'c1', name: 'count', response } };
      const answer = said('answer', { content: { role: 'user', parts: [result] } });
      const history = historyOf([asked(), called(), answer, ended()]);
      return found({ ...history, counted: [], sessions: [...history.sessions, child] });
    };
    expect(told({ error: 'nobody listens' })).not.toContain(open);
    expect(told({ counted: 'c1' })).toContain(open);
  });

  it('one-response: accepts open calls of a failed invocation, and progress of a call', () => {
    const failed = historyOf([asked(), called(), ended('e-1/failure', { errorCode: 'internal' })]);
    expect(
      found({
        ...failed,
        invocations: [
          {
            ...invocation,
            status: 'failed',
            client: { seen: ['call c1', 'e-1/failure'], finished: true, reconnects: 0 },
          },
        ],
      }),
    ).toEqual([]);
    const progress = { functionResponse: { id: 'c1', name: 'count', response: {}, willContinue: true } };
    expect(
      found(
        historyOf([
          asked(),
          called(),
          said('half', { content: { role: 'user', parts: [progress] } }),
          answered(),
          ended(),
        ]),
      ),
    ).toEqual([]);
  });

  it('counted-once: reports calls that were not counted, counted twice, or counted without a log entry', () => {
    expect(found({ ...goodHistory(), counted: [] })).toEqual([
      'counted-once: call c1 of count has a result and was not counted',
    ]);
    expect(found({ ...goodHistory(), counted: ['c1', 'c1'] })).toEqual([
      'counted-once: call c1 was counted twice',
    ]);
    expect(found({ ...goodHistory(), counted: ['c1', 'c2'] })).toEqual([
      'counted-once: call c2 was counted and is in no log',
    ]);
  });

  it('counted-once: reports repeated work whose first replica was alive', () => {
    const executions = ['tool-1', 'tool-2'].map((replica) => ({ tool: 'count', callId: 'c1', replica }));
    const history = { ...goodHistory(), executions };
    expect(found(history)).toEqual([
      'counted-once: the work of call c1 was done 2 times (tool-1, tool-2), and tool-1 was alive',
    ]);
    expect(found({ ...history, killed: ['tool-2'] })).toHaveLength(1);
    expect(found({ ...history, killed: ['tool-1'] })).toEqual([]);
    expect(found({ ...history, onceTools: [] })).toEqual([]);
  });
});

describe('state-is-sum', () => {
  const withDelta = (stateDelta: Record<string, unknown>, id = 'end') =>
    ended(id, { actions: { ...said('x').actions, stateDelta } });
  const history = (state: Record<string, unknown>, delta: Record<string, unknown>) => {
    const made = historyOf([asked(), called(), answered(), withDelta(delta)]);
    return { ...made, sessions: made.sessions.map((session) => ({ ...session, state })) };
  };

  it('reports a value that differs from the deltas, a missing one, and one without a delta', () => {
    expect(found(history({ a: 1, 'user:b': 2 }, { a: 1, 'user:b': 2 }))).toEqual([]);
    expect(found(history({ a: 2 }, { a: 1 }))).toEqual(['state-is-sum: state a is 2, and its deltas make 1']);
    expect(found(history({}, { a: 1 }))).toEqual([
      'state-is-sum: state a is undefined, and its deltas make 1',
    ]);
    expect(found(history({ a: 1 }, {}))).toEqual([
      'state-is-sum: state a is 1, and its deltas make undefined',
    ]);
  });

  it('reports a shared value that is not the last one of any session', () => {
    expect(found(history({ 'user:b': 1 }, { 'user:b': 2 }))).toEqual([
      'state-is-sum: state user:b is 1, which none of its 1 writers wrote last',
    ]);
    const made = history({ 'user:b': 3 }, { 'user:b': 2 });
    const other = sessionOf([withDelta({ 'user:b': 3 }, 'other')], {
      sessionId: 'other',
      state: { 'user:b': 3 },
    });
    expect(found({ ...made, sessions: [...made.sessions, other] })).toEqual([]);
  });

  it('ignores the initial state of the session of a call', () => {
    const made = goodHistory();
    const child = {
      ...sessionOf([withDelta({ a: 1 }, 'x')], {
        sessionId: 'c1',
        callId: 'c1',
        state: { a: 1, before: true },
      }),
    };
    delete child.initialState;
    expect(found({ ...made, sessions: [...made.sessions, child] })).toEqual([]);
  });
});

describe('saw-all-once', () => {
  const seeing = (seen: string[], finished = true): History => ({
    ...goodHistory(),
    invocations: [{ ...invocation, client: { seen, finished, reconnects: 1 } }],
  });

  it.each<[string, string[]]>([
    ['a missing event', ['call c1', 'end']],
    ['a missing end', ['call c1', 'response c1']],
    ['an event twice', ['call c1', 'call c1', 'response c1', 'end']],
    ['another order', ['response c1', 'call c1', 'end']],
    ['an event from nowhere', ['call c1', 'response c1', 'end', 'more']],
  ])('reports %s', (_what, seen) => {
    expect(found(seeing(seen))).toEqual([
      expect.stringMatching(/^saw-all-once: its client \(back 1 times\) saw/),
    ]);
  });

  it('accepts that a client without the end has seen only the first events', () => {
    expect(found(seeing(['call c1'], false))).toEqual([]);
    expect(found(seeing(['response c1'], false))).toHaveLength(1);
  });
});

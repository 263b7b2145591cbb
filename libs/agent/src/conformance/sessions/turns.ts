import { beforeEach, expect, test } from 'vitest';
import type { Session } from '../../sessions/session.ts';
import type { TurnNeed } from '../../sessions/session-log.ts';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, userId } from './kit.ts';

/** Tests of the part of a session that a turn needs. */
export function turns(service: TheService): void {
  const ref = { appName, userId, sessionId: 's' };
  let session: Session;
  beforeEach(async () => {
    session = await service().createSession({ ...ref, state: { color: 'red', 'user:name': 'Ann' } });
  });
  const append = async (...events: ReturnType<typeof eventOf>[]) => {
    for (const event of events) await service().appendEvent({ session, event });
  };
  /** Commits a number of events, each of an invocation of its own: `old-1`, `old-2`, … */
  const talk = async (count: number, name = 'old') =>
    await append(...Array.from({ length: count }, (_, n) => eventOf({ invocationId: `${name}-${n + 1}` })));
  const asks = (id: string, invocationId: string) =>
    eventOf({
      invocationId,
      content: { role: 'model', parts: [{ functionCall: { id, name: 'order', args: {} } }] },
      longRunningToolIds: [id],
    });
  const answers = (id: string, invocationId: string) =>
    eventOf({
      invocationId,
      author: 'user',
      content: { role: 'user', parts: [{ functionResponse: { id, name: 'order', response: {} } }] },
    });
  const sums = (throughSeq: number, agent?: string) =>
    eventOf({
      invocationId: 'sum',
      actions: {
        compaction: {
          startTimestamp: 0,
          endTimestamp: 1,
          throughSeq,
          compactedContent: 'short',
          ...(agent !== undefined && { agent }),
        },
      },
    });
  /** Returns the first needed number, and the numbers of the returned events. */
  const read = async (need: TurnNeed, { invocationId = 'new', knownSeq = 0 } = {}) => {
    const turn = await service().log.readTurn({ ...ref, invocationId }, need, knownSeq);
    if (!turn) throw new Error('the session is gone');
    const { events, seq } = turn.session;
    return [turn.firstSeq, ...events.map((_, at) => seq - events.length + at + 1)];
  };

  test('reads all by default, with the state of all scopes', async () => {
    await talk(3);
    await append(deltaOf({ 'app:rate': 2, color: 'blue' }));
    const turn = await service().log.readTurn({ ...ref, invocationId: 'new' }, {});
    expect(turn).toMatchObject({ firstSeq: 1, session: { id: 's', seq: 4 } });
    expect(turn?.session.state).toEqual({ color: 'blue', 'user:name': 'Ann', 'app:rate': 2 });
    expect(turn?.session.events).toHaveLength(4);
    expect(
      await service().log.readTurn({ ...ref, sessionId: 'none', invocationId: 'new' }, {}),
    ).toBeUndefined();
  });

  test('reads the last events, or all of a shorter session', async () => {
    await talk(5);
    expect(await read({ last: 2 })).toEqual([4, 4, 5]);
    expect(await read({ last: 0 })).toEqual([6]);
    expect(await read({ last: 9 })).toEqual([1, 1, 2, 3, 4, 5]);
  });

  test('reads long parts whole', async () => {
    await talk(450);
    expect(await read({ last: 430 })).toHaveLength(431);
    expect(await read({})).toHaveLength(451);
  });

  test('reads only what the reader lacks, and the last event that it has', async () => {
    await talk(5);
    expect(await read({}, { knownSeq: 4 })).toEqual([1, 4, 5]);
    expect(await read({ last: 2 }, { knownSeq: 2 })).toEqual([4, 4, 5]);
    expect(await read({ last: 4 }, { knownSeq: 5 })).toEqual([2, 5]);
    expect(await read({}, { knownSeq: 9 })).toEqual([1]);
  });

  test('always reads the invocation, from its first event in the session on', async () => {
    await append(eventOf({ invocationId: 'mine' }));
    await talk(4);
    await append(eventOf({ invocationId: 'mine' }));
    expect(await read({ last: 2 }, { invocationId: 'mine' })).toEqual([1, 1, 2, 3, 4, 5, 6]);
    expect(await read({ last: 2 })).toEqual([5, 5, 6]);
  });

  test('keeps the sessions apart that an invocation works in', async () => {
    const child = await service().createSession({ appName, userId, sessionId: 'child' });
    await service().appendEvent({ session: child, event: eventOf({ invocationId: 'mine' }) });
    await talk(3);
    await append(eventOf({ invocationId: 'mine' }));
    expect(await read({ last: 0 }, { invocationId: 'mine' })).toEqual([4, 4]);
    expect((await service().invocations.get({ ...ref, invocationId: 'mine' })).status).toBe('running');
  });

  test('reads the event that made the answered call, also when the answer is committed already', async () => {
    await talk(2);
    await append(eventOf({ invocationId: 'ask' }), asks('c1', 'ask'));
    await talk(3, 'more');
    expect(await read({ last: 1, answers: ['c1'] })).toEqual([3, 3, 4, 5, 6, 7]);
    expect(await read({ last: 1, answers: ['other'] })).toEqual([7, 7]);
    await append(answers('c1', 'answer'));
    expect(await read({ last: 0 }, { invocationId: 'answer' })).toEqual([3, 3, 4, 5, 6, 7, 8]);
    expect(await read({ last: 0, answers: ['c1'] })).toEqual([3, 3, 4, 5, 6, 7, 8]);
  });

  test('reads back to the first event of a chain of questions and answers', async () => {
    await append(asks('c1', 'one'));
    await talk(2);
    await append(answers('c1', 'two'), asks('c2', 'two'));
    await talk(2, 'more');
    expect(await read({ last: 0, answers: ['c2'] })).toEqual([1, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('reads the events that no summary covers, for the agent that needs most', async () => {
    await talk(6);
    await append(sums(3, 'writer'), sums(5));
    expect(await read({ summaries: ['writer'] })).toEqual([4, 4, 5, 6, 7, 8]);
    expect(await read({ summaries: [''] })).toEqual([6, 6, 7, 8]);
    expect(await read({ summaries: ['', 'writer'] })).toEqual([4, 4, 5, 6, 7, 8]);
    expect(await read({ summaries: ['', 'other'] })).toHaveLength(9);
    expect(await read({ summaries: [''], last: 4 })).toEqual([5, 5, 6, 7, 8]);
  });

  test('reads all again when a summary may cover rewound events', async () => {
    await talk(6);
    await append(sums(5), eventOf({ invocationId: 'back', actions: { rewindBeforeInvocationId: 'old-3' } }));
    expect(await read({ summaries: [''], last: 1 })).toHaveLength(9);
  });

  test('reads back to the last event of some agents', async () => {
    await append(eventOf({ author: 'one' }), eventOf({ author: 'two' }));
    await talk(20);
    expect(await read({ last: 1, authors: ['one', 'two', 'three'] })).toHaveLength(22);
    expect(await read({ last: 1, authors: ['one'] })).toHaveLength(23);
    expect(await read({ last: 1, authors: ['three'] })).toEqual([22, 22]);
    const events = [eventOf({ author: 'three' }), eventOf({ author: 'four' })];
    await service().log.appendHistory(ref, { afterSeq: 22, events });
    expect(await read({ last: 0, authors: ['three', 'one'] })).toEqual([23, 23, 24]);
  });

  test('distinguishes a session from another one with the same id', async () => {
    const read = async () => (await service().log.readTurn({ ...ref, invocationId: 'new' }, {}))?.incarnation;
    const first = await read();
    await talk(1);
    expect(await read()).toBe(first);
    await service().deleteSession(ref);
    await service().createSession(ref);
    expect(await read()).not.toBe(first);
  });

  test('reads from a given number on', async () => {
    await talk(5);
    expect(await read({ last: 1, fromSeq: 3 })).toEqual([3, 3, 4, 5]);
    expect(await read({ last: 1, fromSeq: 0 })).toEqual([1, 1, 2, 3, 4, 5]);
  });

  test('forgets a deleted session', async () => {
    await append(asks('c1', 'mine'));
    await service().deleteSession(ref);
    session = await service().createSession(ref);
    await talk(3);
    expect(await read({ last: 1, answers: ['c1'] }, { invocationId: 'mine' })).toEqual([3, 3]);
  });
}

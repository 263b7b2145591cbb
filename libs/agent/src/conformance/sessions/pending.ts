import type { FunctionResponse } from '@google/genai';
import { expect, test } from 'vitest';
import { setDeadlines } from '../../events/deadlines.ts';
import { answerDigest } from '../../sessions/derive-pending.ts';
import type { TheService } from './kit.ts';
import { appName, eventOf, userId } from './kit.ts';

/** Tests of pending calls. */
export function pending(service: TheService): void {
  const ref = { appName, userId, sessionId: 's' };
  const asks = (id: string, name = 'approve') =>
    eventOf({
      longRunningToolIds: [id],
      content: {
        role: 'model',
        parts: [
          { functionCall: { id, name, args: { n: 1 } } },
          { functionCall: { id: `${id}-other`, name: 'plain' } },
        ],
      },
    });
  const says = (author: string, functionResponse: FunctionResponse) =>
    eventOf({ author, content: { role: 'user', parts: [{ functionResponse }] } });
  const call = (callId: string) => ({ ...ref, callId });
  const reservation = (key: string, answer: unknown = { ok: true }, invocationId?: string) => ({
    key,
    digest: answerDigest(answer),
    callers: ['inv-1'],
    ...(invocationId !== undefined && { run: { invocationId } }),
  });
  /** Returns only the state. */
  const accept = async (id: string, ...given: Parameters<typeof reservation>) =>
    (await service().pending.accept(call(id), reservation(...given))).state;
  const list = async () => (await service().pending.list(ref)).map(({ id }) => id);

  test('lists calls from their commit to their answer', async () => {
    const session = await service().createSession(ref);
    const event = asks('c1');
    await service().appendEvent({ session, event });
    await service().appendEvent({ session, event });
    await service().appendEvent({ session, event: asks('c2', 'adk_request_confirmation') });
    const [first, second] = await service().pending.list(ref);
    expect(first).toEqual({
      id: 'c1',
      name: 'approve',
      args: { n: 1 },
      kind: 'result',
      sessionId: 's',
      invocationId: 'inv-1',
      agent: 'helper',
      created: event.timestamp,
    });
    expect(second).toMatchObject({ id: 'c2', kind: 'confirmation' });
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: {} }) });
    expect(await list()).toEqual(['c2']);
    // A repeated commit of the question does not open it again.
    await service().appendEvent({ session, event });
    expect(await list()).toEqual(['c2']);
  });

  test('lists those of a tool until their answer, in all sessions of the user', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    await service().appendEvent({ session, event: asks('c2', 'other') });
    const named = (tool: string, user = userId) => service().pending.ofTool({ appName, userId: user }, tool);
    expect(await named('approve')).toEqual([expect.objectContaining({ id: 'c1', sessionId: 's' })]);
    expect(await named('approve', 'bob')).toEqual([]);
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: {} }) });
    expect(await named('approve')).toEqual([]);
    expect(await named('other')).toHaveLength(1);
  });

  test('closes a call only by its final response', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    for (const event of [
      says('helper', { id: 'c1', response: { status: 'pending' } }),
      says('user', { id: 'c1', response: { half: true }, willContinue: true }),
      says('helper', { id: 'c1', response: { half: true }, willContinue: true }),
    ]) {
      await service().appendEvent({ session, event });
      expect(await list()).toEqual(['c1']);
    }
    await service().appendEvent({
      session,
      event: says('helper', { id: 'c1', response: {}, willContinue: false }),
    });
    expect(await list()).toEqual([]);
  });

  test('lists those of one session or of all, and forgets those of a deleted one', async () => {
    for (const sessionId of ['s', 't']) {
      const session = await service().createSession({ ...ref, sessionId });
      await service().appendEvent({ session, event: asks(`in ${sessionId}`) });
    }
    expect(await list()).toEqual(['in s']);
    expect(await service().pending.list({ appName, userId })).toHaveLength(2);
    expect(await service().pending.list({ appName, userId: 'bob' })).toEqual([]);
    await service().deleteSession(ref);
    expect((await service().pending.list({ appName, userId })).map(({ id }) => id)).toEqual(['in t']);
  });

  test('accepts one answer of many, and recognizes its repetition', async () => {
    const session = await service().createSession(ref);
    expect(await accept('c1', 'first')).toBe('unknown');
    await service().appendEvent({ session, event: asks('c1') });
    expect(await service().pending.get(call('c1'))).toMatchObject({ id: 'c1', invocationId: 'inv-1' });
    expect(await service().pending.stateOf(call('c1'))).toBe('open');
    const all = ['a', 'b', 'c', 'd'].map((key) => accept('c1', key, { by: key }));
    expect((await Promise.all(all)).sort()).toEqual(['accepted', 'answered', 'answered', 'answered']);
    expect(await service().pending.stateOf(call('c1'))).toBe('open');
    // The call is pending until the answer is in the log.
    expect(await list()).toEqual(['c1']);
  });

  test('distinguishes a repeated message, the same answer of another message, and another answer', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    expect(await accept('c1', 'first', { n: 1, m: 2 })).toBe('accepted');
    expect(await accept('c1', 'first', { n: 1, m: 2 })).toBe('repeated');
    expect(await accept('c1', 'second', { m: 2, n: 1 })).toBe('duplicate');
    expect(await service().pending.accept(call('c1'), reservation('third', { n: 2 }))).toEqual({
      state: 'answered',
      by: 'user',
    });
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: { n: 1, m: 2 } }) });
    expect(await accept('c1', 'first', { n: 1, m: 2 })).toBe('repeated');
    expect(await accept('c1', 'fourth', { n: 2 })).toBe('answered');
    expect(await service().pending.get(call('c1'))).toBeUndefined();
  });

  test('records answers of the agent itself', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    await service().appendEvent({
      session,
      event: says('helper', { id: 'c1', response: { done: true }, willContinue: false }),
    });
    expect(await accept('c1', 'k', { done: true })).toBe('duplicate');
    expect(await service().pending.accept(call('c1'), reservation('k', {}))).toEqual({
      state: 'answered',
      by: 'agent',
    });
  });

  test('refuses answers while the calling invocation is running', async () => {
    const session = await service().createSession(ref);
    const invocation = { ...ref, invocationId: 'inv-1' };
    await service().leases.take(invocation, { run: '', whenBusy: 'reject' });
    await service().appendEvent({ session, event: asks('c1') });
    expect(await accept('c1', 'k')).toBe('busy');
    await service().invocations.end(invocation, { status: 'completed' });
    const anew = { ...ref, invocationId: 'inv-2' };
    await service().leases.take(anew, { run: '', whenBusy: 'reject' });
    const begun = { ...reservation('k'), callers: ['inv-1', 'inv-2'] };
    expect(await service().pending.accept(call('c1'), begun)).toEqual({ state: 'busy' });
    expect(await accept('c1', 'k')).toBe('accepted');
  });

  test('accepts another answer when the accepted one was never committed', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    const run = { ...ref, invocationId: 'inv-2' };
    expect(await accept('c1', 'first', { n: 1 }, 'inv-2')).toBe('accepted');
    await service().leases.take(run, { run: '', whenBusy: 'reject' });
    expect(await accept('c1', 'second', { n: 2 })).toBe('answered');
    await service().invocations.end(run, { status: 'failed', error: { code: 'internal', message: '' } });
    expect(await accept('c1', 'second', { n: 2 })).toBe('accepted');
  });

  test('releases a reservation, so that another answer may come', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    // Publishers may choose any name for a run.
    expect(await accept('c1', 'first', { n: 1 }, 'order 66 ["')).toBe('accepted');
    expect(await accept('c1', 'first', { n: 1 })).toBe('repeated');
    const { pending: calls } = service();
    expect([
      await calls.isReservedBy(call('c1'), 'first'),
      await calls.isReservedBy(call('c1'), 'b'),
    ]).toEqual([true, false]);
    await calls.release(call('c1'), 'second');
    expect(await accept('c1', 'second', { n: 2 })).toBe('answered');
    await calls.release(call('c1'), 'first');
    expect(await accept('c1', 'second', { n: 2 })).toBe('accepted');
  });

  test('accepts an answer to a call whose arguments no script can read', async () => {
    const session = await service().createSession(ref);
    const event = asks('c1');
    const nested = JSON.parse(`${'['.repeat(1_500)}${']'.repeat(1_500)}`);
    event.content = {
      role: 'model',
      parts: [{ functionCall: { id: 'c1', name: 'approve', args: { nested } } }],
    };
    await service().appendEvent({ session, event });
    await service().leases.take({ ...ref, invocationId: '["' }, { run: '', whenBusy: 'reject' });
    expect(await accept('c1', 'k')).toBe('accepted');
  });

  test('finds a call by its id alone', async () => {
    const session = await service().createSession(ref);
    expect(await service().pending.sessionsAsking('c1')).toEqual([]);
    await service().appendEvent({ session, event: asks('c1') });
    expect(await service().pending.sessionsAsking('c1')).toEqual([ref]);
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: {} }) });
    expect(await service().pending.sessionsAsking('c1')).toEqual([ref]);
    expect(await service().pending.sessionsAsking('x'.repeat(1_000))).toEqual([]);
  });

  test('accepts progress in order', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    const note = (seq: number) => service().pending.noteProgress(call('c1'), seq);
    expect([await note(1), await note(3), await note(2), await note(3), await note(4)]).toEqual([
      true,
      true,
      false,
      true,
      true,
    ]);
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: {} }) });
    expect(await note(5)).toBe(false);
  });

  test('lists the overdue calls of one service', async () => {
    const session = await service().createSession(ref);
    const withDeadline = (id: string, at: number, replica: string) => {
      const event = { ...asks(id), customMetadata: { 'mesh:replica': replica } };
      setDeadlines(event, new Map([[id, at]]));
      return event;
    };
    const replica = 'agent_helper-12-0123abcd';
    const now = Date.now();
    await service().appendEvent({ session, event: withDeadline('late', now - 10, replica) });
    await service().appendEvent({ session, event: withDeadline('later', now - 20, replica) });
    await service().appendEvent({ session, event: withDeadline('in time', now + 60_000, replica) });
    await service().appendEvent({ session, event: withDeadline('other', now - 10, 'agent_b-1-0123abcd') });
    expect(await service().pending.list(ref)).toContainEqual(
      expect.objectContaining({ id: 'late', service: 'helper', deadline: now - 10 }),
    );
    const overdue = () => service().pending.overdue('helper', 10);
    expect(await overdue()).toEqual([call('later'), call('late')]);
    expect(await service().pending.overdue('helper', 1)).toEqual([call('later')]);
    await service().pending.forgetDeadline('helper', call('later'));
    expect(await overdue()).toEqual([call('late')]);
    await service().pending.postponeDeadline('helper', call('late'), now + 60_000);
    expect(await overdue()).toEqual([]);
  });

  test('commits news of a call only while it is pending', async () => {
    const session = await service().createSession(ref);
    await service().appendEvent({ session, event: asks('c1') });
    const news = (id: string) => ({
      ...says('helper', { id: 'c1', response: { id }, willContinue: true }),
      id,
    });
    await service().appendEvent({ session, event: news('n1'), aside: true, whileOpen: 'c1' });
    await service().appendEvent({ session, event: says('user', { id: 'c1', response: {} }) });
    const late = service().appendEvent({ session, event: news('n2'), aside: true, whileOpen: 'c1' });
    await expect(late).rejects.toMatchObject({ code: 'failed_precondition' });
    // A repeated commit changes nothing.
    await service().appendEvent({ session, event: news('n1'), aside: true, whileOpen: 'c1' });
    expect((await service().getSession(ref))?.events).toHaveLength(3);
  });

  test('commits an event aside without restarting its invocation', async () => {
    const session = await service().createSession(ref);
    const invocation = (invocationId: string) => ({ ...ref, invocationId });
    const event = says('helper', { id: 'c1', response: {}, willContinue: true });
    await service().appendEvent({ session, event, aside: true });
    expect(await service().invocations.get(invocation('inv-1'))).toMatchObject({ status: 'completed' });
    await service().leases.take(invocation('inv-2'), { run: '', whenBusy: 'reject' });
    const other = { ...says('helper', { id: 'c2', response: {} }), invocationId: 'inv-2' };
    await service().appendEvent({ session, event: other, aside: true });
    expect(await service().invocations.get(invocation('inv-2'))).toMatchObject({ status: 'running' });
  });

  test('separates calls with the same id in two sessions', async () => {
    for (const sessionId of ['s', 't']) {
      const session = await service().createSession({ ...ref, sessionId });
      await service().appendEvent({ session, event: asks('same') });
    }
    expect(await service().pending.list({ appName, userId })).toHaveLength(2);
    expect(await service().pending.sessionsAsking('same')).toHaveLength(2);
    expect(await accept('same', 'k')).toBe('accepted');
    const there = { ...ref, sessionId: 't', callId: 'same' };
    expect(await service().pending.stateOf(there)).toBe('open');
  });
}

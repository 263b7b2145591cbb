import { expect, test } from 'vitest';
import { endOfRun } from '../../sessions/invocations.ts';
import type { TheService } from './kit.ts';
import { appName, deltaOf, held, meshError, reread, userId } from './kit.ts';

/** Tests of runs that continue an ended invocation. */
export function continuing(service: TheService): void {
  const session = { appName, userId, sessionId: 's' };
  const first = { ...session, invocationId: 'inv-1' };
  const again = (resume: string, invocationId = 'inv-1') => ({ ...session, invocationId, resume });
  type Ref = typeof first & { resume?: string };
  const queue = (ref: Ref, whenBusy: 'enqueue' | 'reject' = 'enqueue') =>
    service().leases.take(ref, { run: JSON.stringify(ref), whenBusy });
  const end = (ref: Ref) => service().invocations.end(ref, { status: 'completed' });
  const record = () => service().invocations.get(first);
  const error = { code: 'internal', message: 'broken' };

  /** Gives the session to the next run in the queue, as the mesh does. */
  async function promote() {
    const next = await service().leases.nextRun(session);
    if (next !== undefined) await service().leases.promote(JSON.parse(next.run));
    return next === undefined ? undefined : (JSON.parse(next.run) as Ref);
  }

  /** Makes a session whose first invocation has committed an event and ended. */
  async function ended() {
    const made = await service().createSession(session);
    await queue(first);
    await service().appendEvent({ session: made, event: deltaOf({ n: 1, 'temp:t': 'x' }), token: 1 });
    await service().invocations.countLlmCall(first, 1);
    await end(first);
    return made;
  }

  test('continue it with its temp: state and its counters, and have ends of their own', async () => {
    const made = await ended();
    const taken = await queue(again('r1'));
    expect(taken).toEqual(held({ token: 2, begun: 1, seq: 1, record: await record() }));
    expect(await record()).toEqual({
      status: 'running',
      home: session.sessionId,
      resume: 'r1',
      ends: new Map([['', { status: 'completed' }]]),
      temp: { 'temp:t': 'x' },
      llmCalls: 1,
      tokens: 0,
    });
    await service().appendEvent({ session: made, event: deltaOf({ n: 2 }), token: 2 });
    expect(await service().invocations.countLlmCall(first, 2)).toBe(2);
    expect(await service().leases.renew(again('r1'), 2)).toEqual({});
    await service().invocations.end(again('r1'), { status: 'failed', error }, 2);
    expect(await record()).toMatchObject({ status: 'failed', error, resume: 'r1', llmCalls: 2 });
    expect(endOfRun(await record())).toEqual({ status: 'completed' });
    expect(endOfRun(await record(), 'r1')).toEqual({ status: 'failed', error });
    expect(endOfRun(await record(), 'r2')).toBeUndefined();
    expect((await reread(service(), made)).state).toEqual({ n: 2 });
  });

  test('do not begin again when they have ended, and neither does the first run', async () => {
    await ended();
    await queue(again('r1'));
    expect(await queue(first)).toEqual({ state: 'ended' });
    await end(again('r1'));
    expect(await queue(again('r1'))).toEqual({ state: 'ended' });
    expect(await queue(first)).toEqual({ state: 'ended' });
    expect(await queue(again('r2'))).toMatchObject({ state: 'held', token: 3 });
    expect(await queue(again('r1'))).toEqual({ state: 'ended' });
    expect((await record()).status).toBe('running');
  });

  test('are taken over by a later delivery, as the first run is', async () => {
    const made = await ended();
    await queue(again('r1'));
    expect(await queue(again('r1'))).toMatchObject({ state: 'held', token: 3, begun: 2 });
    const event = deltaOf({ n: 2 });
    for (const token of [1, 2]) {
      await expect(service().appendEvent({ session: made, event, token })).rejects.toMatchObject(
        meshError('aborted'),
      );
    }
    await service().appendEvent({ session: made, event, token: 3 });
    await service().appendEvent({ session: made, event, token: 3 });
    expect((await reread(service(), made)).events).toHaveLength(2);
  });

  test('wait their turn behind each other, and behind other invocations', async () => {
    await ended();
    const other = { ...session, invocationId: 'inv-2' };
    await queue(again('r1'));
    expect(await queue(again('r2'))).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await queue(other)).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await queue(again('r3'))).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await queue(again('r2'))).toEqual({ state: 'busy', holder: 'inv-1' });
    for (const [over, next] of [
      [again('r1'), again('r2')],
      [again('r2'), other],
      [other, again('r3')],
    ] as [Ref, Ref][]) {
      await end(over);
      expect(await promote()).toEqual(next);
      expect(await queue(next)).toMatchObject({ state: 'held' });
    }
    await end(again('r3'));
    expect(await promote()).toBeUndefined();
    const { ends } = await record();
    expect([...(ends?.keys() ?? [])].sort()).toEqual(['', 'r1', 'r2', 'r3']);
  });

  test('wait for the end of the first run, too', async () => {
    await service().createSession(session);
    await queue(first);
    expect(await queue(again('r1'))).toEqual({ state: 'busy', holder: 'inv-1' });
    expect((await record()).status).toBe('running');
    await end(first);
    expect((await record()).status).toBe('completed');
    expect(await promote()).toEqual(again('r1'));
    expect(await queue(again('r1'))).toMatchObject({ state: 'held' });
  });

  test('that are refused leave the invocation unchanged', async () => {
    await ended();
    const before = await record();
    await queue(again('r1'));
    const refused = { status: 'failed', error, refused: true } as const;
    await service().invocations.end(again('r1'), refused, 2);
    const { ends, ...after } = await record();
    expect(after).toEqual(before);
    expect(ends?.get('r1')).toEqual({ status: 'failed', error });
    expect(await queue(again('r1'))).toEqual({ state: 'ended' });
    await queue(again('r2'));
    await end(again('r2'));
    await queue(again('r3'));
    await service().invocations.end(again('r3'), refused);
    expect(await record()).toMatchObject({ status: 'completed', resume: 'r2' });
  });

  test('that will not wait end without having begun', async () => {
    await ended();
    await queue(again('r1'));
    const rejected = { state: 'busy', holder: 'inv-1', isRejected: true };
    expect(await queue(again('r2'), 'reject')).toEqual(rejected);
    await service().invocations.end(again('r2'), { status: 'failed', error });
    expect(await record()).toMatchObject({ status: 'running', resume: 'r1' });
    expect(endOfRun(await record(), 'r2')).toEqual({ status: 'failed', error });
    expect(await service().leases.renew(again('r1'), 2)).toEqual({});
  });

  test('are cancelled with the invocation, running and in the queue', async () => {
    await ended();
    await queue(again('r1'));
    await queue(again('r2'));
    const cancelled = { status: 'failed', error: { code: 'cancelled', message: 'enough' } };
    expect(await service().invocations.cancel(first, 'enough')).toMatchObject({
      status: 'running',
      cancelled: 'enough',
    });
    expect(await service().leases.renew(again('r1'), 2)).toEqual({ cancelled: 'enough' });
    expect(endOfRun(await record(), 'r2')).toEqual(cancelled);
    expect(await queue(again('r2'))).toEqual({ state: 'ended' });
    await end(again('r1'));
    expect(await promote()).toBeUndefined();
  });

  test('are cancelled separately, running and in the queue', async () => {
    await ended();
    await queue(again('r1'));
    await queue(again('r2'));
    await queue(again('r3'));
    expect(await service().invocations.cancel(again('r4'), 'early')).toBeUndefined();
    expect(await service().invocations.cancel(again('r2'), 'enough')).toMatchObject({ status: 'running' });
    expect((await record()).cancelled).toBeUndefined();
    expect(endOfRun(await record(), 'r2')).toMatchObject({ error: { code: 'cancelled' } });
    await service().invocations.cancel(again('r1'), 'this too');
    expect(await service().leases.renew(again('r1'), 2)).toEqual({ cancelled: 'this too' });
    await end(again('r1'));
    expect(await promote()).toEqual(again('r3'));
    expect(await service().invocations.cancel(again('r2'), 'late')).toMatchObject({ status: 'completed' });
  });

  test('do not see a cancellation that came too late for the previous run', async () => {
    await ended();
    await queue(again('r1'));
    await service().invocations.cancel(first, 'late');
    await end(again('r1'));
    expect(await queue(again('r2'))).toEqual(held({ token: 3, begun: 1, seq: 1 }));
    expect((await record()).cancelled).toBeUndefined();
  });

  test('that wait are cancelled without changing what has ended', async () => {
    await ended();
    const other = { ...session, invocationId: 'inv-2' };
    await queue(other);
    await queue(again('r1'));
    expect(await service().invocations.cancel(first, 'enough')).toMatchObject({ status: 'completed' });
    expect(endOfRun(await record(), 'r1')).toMatchObject({ error: { code: 'cancelled' } });
    await end(other);
    expect(await promote()).toBeUndefined();
  });

  test('do not take an invocation of another session', async () => {
    await ended();
    await service().createSession({ ...session, sessionId: 't' });
    expect(await queue({ ...again('r1'), sessionId: 't' })).toEqual({ state: 'gone' });
    expect((await record()).status).toBe('completed');
  });
}

import { expect, test } from 'vitest';
import type { TheService } from './kit.ts';
import { deltaOf, held, meshError, numberedRuns, take } from './kit.ts';

/** Tests of leases: one invocation at a time has a session, the other invocations wait in order. */
export function leases(service: TheService): void {
  const { session, inv, run, create, queue, end, promote } = numberedRuns(service);
  const refused = meshError('aborted');

  test('gives the session to one invocation, and keeps the others in order', async () => {
    await create();
    expect(await queue(1)).toEqual(held({ token: 1, begun: 1 }));
    expect(await queue(2)).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await queue(3)).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await queue(2)).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await service().leases.nextRun(session)).toBeUndefined();
    await end(1);
    expect(await service().leases.nextRun(session)).toMatchObject({ run: run(2) });
    expect(await queue(4)).toEqual({ state: 'busy' });
    expect(await promote()).toBe(run(2));
    expect(await promote()).toBeUndefined();
    expect(await queue(3)).toEqual({ state: 'busy', holder: 'inv-2' });
    expect(await queue(2)).toEqual(held({ token: 1, begun: 1 }));
    await end(2);
    expect(await queue(3)).toMatchObject({ state: 'held' });
    await end(3);
    expect(await promote()).toBe(run(4));
    await end(4);
    expect(await service().leases.nextRun(session)).toBeUndefined();
  });

  test('a duplicate of the running run takes nothing over while the holder renews its lease', async () => {
    const one = await create();
    const bring = (message: string, { part = 'hop:0', leaseMs = 60_000 } = {}) =>
      service().leases.take(inv(1), {
        run: run(1),
        whenBusy: 'enqueue',
        leaseMs,
        delivery: { part, message },
      });
    expect(await bring('a')).toEqual(held({ token: 1, begun: 1 }));
    for (const copy of ['b', 'c', 'd', 'e', 'f', 'g', 'h'])
      expect(await bring(copy)).toEqual({ state: 'duplicate' });
    await service().appendEvent({
      session: one,
      event: deltaOf({ n: 1 }, { invocationId: 'inv-1' }),
      token: 1,
    });
    // The same message arrives again: its process died, or lost the connection.
    expect(await bring('a')).toEqual(held({ token: 2, begun: 1, seq: 1, attempt: 2 }));
    const other = held({ token: 3, begun: 2, seq: 1, attempt: 1 });
    expect(await bring('z', { part: 'hop:1', leaseMs: 1 })).toEqual(other);
    // The holder does not renew its lease for as long as it lasts.
    await expect.poll(() => bring('y', { part: 'hop:1' })).toMatchObject({ state: 'held', token: 4 });
    await end(1);
    expect(await bring('y', { part: 'hop:1' })).toEqual({ state: 'ended' });
  });

  test('a run that waited may arrive with another message', async () => {
    await create();
    const bring = (n: number, message: string) =>
      service().leases.take(inv(n), {
        run: run(n),
        whenBusy: 'enqueue',
        delivery: { part: 'hop:0', message },
      });
    expect(await bring(1, 'a')).toMatchObject({ state: 'held' });
    expect(await bring(2, 'b')).toMatchObject({ state: 'busy' });
    await end(1);
    await promote();
    expect(await bring(2, 'c')).toMatchObject({ state: 'held' });
    expect(await bring(2, 'b')).toEqual({ state: 'duplicate' });
  });

  test('keeps the order of many that come at once', async () => {
    await create();
    await take(service(), inv(0));
    await Promise.all(Array.from({ length: 16 }, (_, n) => queue(n + 1)));
    const order: string[] = [];
    for (let at = 'run of inv-0'; ; ) {
      await end(at.slice('run of inv-'.length));
      const next = await promote();
      if (next === undefined) break;
      order.push(next);
      at = next;
    }
    expect(new Set(order).size).toBe(16);
  });

  test('a run that will not wait is not queued; one that interrupts is the next', async () => {
    await create();
    await take(service(), inv(1));
    expect(await queue(2, 'reject')).toEqual({ state: 'busy', holder: 'inv-1', isRejected: true });
    await queue(3);
    await queue(4, 'interrupt');
    await end(1);
    expect(await promote()).toBe(run(4));
    await end(4);
    expect(await promote()).toBe(run(3));
  });

  test('refuses commits of an invocation that does not have the session, or has ended', async () => {
    const one = await create();
    const token = await take(service(), inv(1));
    const of = (n: number) => deltaOf({ n }, { invocationId: `inv-${n}` });
    await expect(service().appendEvent({ session: one, event: of(2), token: 1 })).rejects.toMatchObject(
      refused,
    );
    await service().appendEvent({ session: one, event: of(1), token });
    await end(1);
    await expect(service().appendEvent({ session: one, event: of(1), token })).rejects.toMatchObject(refused);
    expect((await service().log.readEvents(session)).map(({ event }) => event.invocationId)).toEqual([
      'inv-1',
    ]);
    expect(await queue(1)).toEqual({ state: 'ended' });
  });

  test('a renewed lease keeps the session', async () => {
    await create();
    await service().leases.take(inv(1), { run: run(1), whenBusy: 'enqueue', leaseMs: 60_000 });
    expect(await service().leases.renew(inv(1), 1, 60_000)).toEqual({});
    expect(await queue(2)).toMatchObject({ state: 'busy' });
  });

  test('counts deliveries that committed nothing', async () => {
    const picture = await create();
    await queue(1);
    expect(await queue(1)).toMatchObject({ begun: 2 });
    await service().leases.giveBack(inv(1), 2);
    expect(await queue(1)).toMatchObject({ begun: 1 });
    await service().leases.giveBack(inv(1), 2);
    expect(await queue(1)).toMatchObject({ begun: 2, token: 4 });
    await service().appendEvent({ session: picture, event: deltaOf({ n: 1 }), token: 4 });
    expect(await queue(1)).toMatchObject({ begun: 1 });
  });

  test('counts deliveries that committed only the message of the run', async () => {
    const picture = await create();
    await queue(1);
    await service().appendEvent({ session: picture, event: deltaOf({ n: 1 }, { author: 'user' }), token: 1 });
    expect(await queue(1)).toMatchObject({ begun: 2 });
  });

  test('returns a cancellation to callers that take or renew the lease', async () => {
    await create();
    await take(service(), inv(1));
    const marked = { status: 'running', cancelled: 'enough' };
    expect(await service().invocations.cancel(inv(1), 'enough')).toMatchObject(marked);
    expect(await service().invocations.cancel(inv(1), 'again')).toMatchObject(marked);
    expect(await service().invocations.get(inv(1))).toMatchObject(marked);
    expect(await service().leases.renew(inv(1), 1)).toEqual({ cancelled: 'enough' });
    expect(await queue(1)).toMatchObject({ state: 'held', cancelled: 'enough' });
    await end(1);
    expect(await service().invocations.cancel(inv(1), 'late')).toMatchObject({ status: 'completed' });
  });

  test('ends a run that waits when it is cancelled', async () => {
    await create();
    await take(service(), inv(1));
    await queue(2);
    await queue(3);
    const error = { code: 'cancelled', message: 'never mind' };
    expect(await service().invocations.cancel(inv(2), 'never mind')).toMatchObject({
      status: 'failed',
      error,
    });
    await end(1);
    expect(await promote()).toBe(run(3));
    expect(await queue(2)).toEqual({ state: 'ended' });
  });

  test('lists the sessions that a run has, or for which a run waits', async () => {
    await create();
    const { leases } = service();
    const listed = async () => {
      // Takes the session off the list when it is not busy.
      await leases.nextRun(session);
      return await leases.busySessions(session.appName, 10);
    };
    expect(await listed()).toEqual([]);
    await take(service(), inv(1));
    expect(await listed()).toEqual([session]);
    await queue(2);
    await end(1);
    expect(await listed()).toEqual([session]);
    await promote();
    expect(await listed()).toEqual([session]);
    await end(2);
    expect(await listed()).toEqual([]);
    const token = await take(service(), inv(3), '');
    expect(await listed()).toEqual([session]);
    await service().invocations.end(inv(3), { status: 'completed' }, token);
    expect(await listed()).toEqual([]);
  });

  test('takes nothing of an unknown session; its waiting runs still get a result', async () => {
    expect(await queue(1)).toEqual({ state: 'gone' });
    expect(await service().getSession(session)).toBeUndefined();
    await create();
    await take(service(), inv(2));
    await queue(3);
    await service().deleteSession(session);
    expect(await service().leases.nextRun(session)).toMatchObject({ run: run(3) });
    expect(await queue(3)).toEqual({ state: 'ended' });
    expect(await service().invocations.get(inv(2))).toMatchObject({ error: { code: 'not_found' } });
    await end(3);
    expect(await service().leases.nextRun(session)).toBeUndefined();
  });

  test('keeps the newest run of one that finds the session busy again', async () => {
    await create();
    await take(service(), inv(1));
    await queue(2);
    await service().leases.take(inv(2), { run: 'again', whenBusy: 'enqueue' });
    await end(1);
    expect(await service().leases.nextRun(session)).toMatchObject({ run: 'again' });
  });

  test('does not cancel an invocation of another session', async () => {
    await create();
    await service().createSession({ ...session, sessionId: 't' });
    await take(service(), inv(1));
    expect(await service().invocations.cancel(inv('never'), 'x')).toBeUndefined();
    expect(await service().invocations.cancel({ ...inv(1), sessionId: 't' }, 'x')).toBeUndefined();
    expect(await service().invocations.cancel({ ...inv(1), userId: 'bob' }, 'x')).toBeUndefined();
    expect((await service().invocations.get(inv(1))).cancelled).toBeUndefined();
  });

  test('gives no session to a run with the id of a run of another session', async () => {
    await create();
    await service().createSession({ ...session, sessionId: 't' });
    const other = { ...inv(1), sessionId: 't' };
    const takeOther = () => service().leases.take(other, { run: 'other', whenBusy: 'enqueue' });
    const token = await take(service(), inv(1));
    expect(await takeOther()).toEqual({ state: 'elsewhere' });
    expect(await service().invocations.get(other)).toMatchObject({ home: session.sessionId });
    expect(await service().leases.renew(inv(1), token)).toEqual({});
    await end(1);
    expect(await takeOther()).toEqual({ state: 'elsewhere' });
    expect(await service().leases.nextRun(other)).toBeUndefined();
    await take(service(), inv(2));
    await queue(3);
    expect(
      await service().leases.take({ ...inv(3), sessionId: 't' }, { run: '', whenBusy: 'reject' }),
    ).toEqual({
      state: 'elsewhere',
    });
  });

  test('keeps a run out of a session that was made anew under the id of its own', async () => {
    const old = await create();
    const token = await take(service(), inv(1));
    await service().appendEvent({ session: old, event: deltaOf({ n: 1 }), token });
    await service().deleteSession(session);
    const made = await create();
    for (let n = 0; n < 3; n += 1)
      await service().appendEvent({ session: made, event: deltaOf({ n }, { invocationId: 'inv-2' }) });
    const late = deltaOf({ n: 9 });
    await expect(service().appendEvent({ session: old, event: late, token })).rejects.toMatchObject(refused);
    expect(await service().log.readEvents(session)).toHaveLength(3);
  });
}

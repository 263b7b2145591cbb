import { expect, test } from 'vitest';
import type { InvocationRef } from '../../sessions/invocations.ts';
import type { TakenSession, TakeOptions } from '../../sessions/session-leases.ts';
import { appName, type TheService, take, userId } from './kit.ts';

const user = { appName, userId };
const error = { code: 'resource_exhausted', message: 'too many' };
const refusal = { status: 'failed', error } as const;

/** Tests of the limits for the runs of one user: those at work, and those that wait. */
export function userShares(service: TheService): void {
  /** The run with this number, which begins in the session with this number. */
  const inv = (n: number, session = n): InvocationRef => ({
    ...user,
    sessionId: `s${session}`,
    invocationId: `inv-${n}`,
  });
  const run = (n: number) => `run of inv-${n}`;
  const limits = { running: 2, waiting: { most: 3, refusal } };

  async function create(...numbers: number[]): Promise<void> {
    for (const n of numbers) await service().createSession({ ...user, sessionId: `s${n}` });
  }

  async function bring(
    n: number,
    options: Partial<TakeOptions> & { session?: number } = {},
  ): Promise<TakenSession> {
    const { session = n, ...rest } = options;
    const defaults = { run: run(n), whenBusy: 'enqueue', place: n, limits } as const;
    return await service().leases.take(inv(n, session), { ...defaults, ...rest });
  }

  const end = (n: number, session = n) => service().invocations.end(inv(n, session), { status: 'completed' });

  /** Starts the runs whose turn it is, as the mesh does. Returns their numbers. */
  async function startNext(from: { sessionId?: string } = {}): Promise<number[]> {
    const started: number[] = [];
    for (;;) {
      const { running } = limits;
      const next = await service().leases.nextRun({ ...user, ...from }, { running });
      if (!next) return started;
      const n = Number(next.run.slice('run of inv-'.length));
      started.push(n);
      const ref = { ...inv(n), sessionId: next.sessionId };
      if (!(await service().leases.promote(ref, { run: next.run, running }))) return started;
    }
  }

  test('a run waits although its session is free, and begins when another run of the user ends', async () => {
    await create(1, 2, 3, 4);
    expect(await bring(1)).toMatchObject({ state: 'held' });
    expect(await bring(2)).toMatchObject({ state: 'held' });
    expect(await bring(4)).toEqual({ state: 'busy', isFull: true });
    expect(await bring(3)).toEqual({ state: 'busy', isFull: true });
    expect(await service().leases.countWaiting(user)).toBe(2);
    expect(await service().leases.look(inv(1))).toMatchObject({ seq: 0, waiting: 2 });
    expect(await startNext()).toEqual([]);
    await end(1);
    expect(await startNext({ sessionId: 's1' })).toEqual([3]);
    expect(await service().leases.countWaiting(user)).toBe(1);
    expect(await bring(3, { place: 9 })).toMatchObject({ state: 'held', token: 1 });
    await end(2);
    await end(3);
    expect(await startNext()).toEqual([4]);
    expect(await startNext()).toEqual([]);
  });

  test('two ends at the same time start two runs', async () => {
    await create(1, 2, 3, 4);
    for (const n of [1, 2, 3, 4]) await bring(n);
    await end(1);
    await end(2);
    const { leases } = service();
    const both = await Promise.all([1, 2].map((n) => leases.nextRun(inv(n), { running: 2 })));
    expect(both).toEqual([3, 3].map((n) => ({ sessionId: `s${n}`, run: run(n) })));
    expect(await leases.promote(inv(3), { run: run(3), running: 2 })).toBe(true);
    expect(await leases.promote(inv(3), { run: run(3), running: 2 })).toBe(true);
    expect(await startNext()).toEqual([4]);
  });

  test('the share belongs to one user of one app', async () => {
    await create(1, 2);
    for (const n of [1, 2]) await bring(n);
    for (const other of [
      { appName, userId: 'ben' },
      { appName: 'other', userId },
    ]) {
      const ref = { ...other, sessionId: 's9' };
      await service().createSession(ref);
      const options = { run: run(9), whenBusy: 'enqueue', place: 9, limits } as const;
      expect(await service().leases.take({ ...ref, invocationId: 'inv-9' }, options)).toMatchObject({
        state: 'held',
      });
      expect(await service().leases.countWaiting(other)).toBe(0);
    }
  });

  test('keeps the order of acceptance in a session, whatever waits for a share', async () => {
    await create(1, 2, 3);
    for (const n of [1, 2]) await bring(n);
    expect(await bring(5, { session: 3 })).toMatchObject({ isFull: true });
    expect(await bring(4, { session: 3 })).toMatchObject({ isFull: true });
    await end(1);
    // A newer run of the session does not overtake those that wait.
    expect(await bring(6, { session: 3 })).toEqual({ state: 'busy' });
    expect(await startNext()).toEqual([4]);
    await end(2);
    expect(await startNext()).toEqual([]);
    await end(4, 3);
    expect(await startNext({ sessionId: 's3' })).toEqual([5]);
    await end(5, 3);
    expect(await startNext()).toEqual([6]);
  });

  test('a new run takes no room from a run that waits', async () => {
    await create(1, 2, 3, 4);
    for (const n of [1, 2, 3]) await bring(n);
    await end(1);
    expect(await bring(4)).toEqual({ state: 'busy' });
    expect(await startNext()).toEqual([3]);
  });

  test('an interrupting run is the next of the user', async () => {
    await create(1, 2, 3);
    for (const n of [1, 2, 3]) await bring(n);
    expect(await bring(4, { session: 1, whenBusy: 'interrupt' })).toEqual({ state: 'busy', holder: 'inv-1' });
    await end(1);
    expect(await startNext()).toEqual([4]);
  });

  test('a run that may not wait for its session waits for a share', async () => {
    await create(1, 2, 3);
    for (const n of [1, 2]) await bring(n);
    const rejection = { status: 'failed', error: { code: 'resource_exhausted', message: 'busy' } } as const;
    expect(await bring(3, { whenBusy: 'reject', rejection })).toEqual({ state: 'busy', isFull: true });
    expect(await service().invocations.get(inv(3))).toMatchObject({ status: 'running' });
    expect(await bring(4, { session: 3, whenBusy: 'reject', rejection })).toMatchObject({ isRejected: true });
    expect(await service().invocations.get(inv(4, 3))).toMatchObject(rejection);
    await end(1);
    expect(await startNext()).toEqual([3]);
    expect(await bring(3, { whenBusy: 'reject', rejection })).toMatchObject({ state: 'held' });
  });

  test('a run that may not wait for its session waits behind an earlier run of its user', async () => {
    await create(1, 2, 3, 4);
    for (const n of [1, 2, 3]) await bring(n);
    await end(1);
    const rejection = { status: 'failed', error: { code: 'resource_exhausted', message: 'busy' } } as const;
    // It is not rejected: it is in the queue, and is told so.
    expect(await bring(4, { whenBusy: 'reject', rejection })).toEqual({ state: 'busy' });
    expect(await service().invocations.get(inv(4))).toMatchObject({ status: 'running' });
    expect(await startNext()).toEqual([3]);
    await end(2);
    expect(await startNext()).toEqual([4]);
  });

  test('work without limits, later hops and runs that continue an invocation never wait for a share', async () => {
    await create(1, 2, 3, 4, 5);
    for (const n of [1, 2]) await bring(n);
    expect(await take(service(), inv(3))).toBe(1);
    expect(await bring(2, { limits: undefined })).toMatchObject({ state: 'held', token: 2 });
    expect(await bring(1)).toMatchObject({ state: 'held', token: 2 });
    // Work without limits does not count.
    await end(1);
    expect(await bring(4)).toMatchObject({ state: 'held' });
    await end(2);
    const again = { ...inv(2), resume: 'r-1' };
    await bring(5);
    const options = { run: 'again', whenBusy: 'enqueue', place: 20, limits } as const;
    expect(await service().leases.take(again, options)).toMatchObject({ state: 'held' });
    // It counts, though.
    await end(5);
    await create(6);
    expect(await bring(6)).toMatchObject({ isFull: true });
  });

  test('a holder that gives no sign of life does not count, until it gives one', async () => {
    await create(1, 2, 3, 4);
    await bring(1, { leaseMs: 1 });
    await bring(2);
    await expect.poll(() => service().leases.findSilent(inv(1))).toBeDefined();
    expect(await bring(3)).toMatchObject({ state: 'held' });
    await service().leases.renew(inv(1), 1);
    await end(3);
    expect(await bring(4)).toMatchObject({ isFull: true });
  });

  test('a cancelled run leaves its place', async () => {
    await create(1, 2, 3, 4);
    for (const n of [1, 2, 3, 4]) await bring(n);
    expect(await service().invocations.cancel(inv(3), 'never mind')).toMatchObject({
      status: 'failed',
      error: { code: 'cancelled' },
    });
    expect(await service().leases.countWaiting(user)).toBe(1);
    await end(1);
    expect(await startNext()).toEqual([4]);
  });

  test('the runs of a deleted session come at once, so that each can end', async () => {
    await create(1, 2, 3, 4);
    for (const n of [1, 2, 3, 4]) await bring(n);
    await service().deleteSession({ ...user, sessionId: 's3' });
    const next = () => service().leases.nextRun(inv(3), { running: 2 });
    expect(await next()).toEqual({ sessionId: 's3', run: run(3) });
    expect(await service().leases.promote(inv(3), { run: run(3), running: 2 })).toBe(false);
    expect(await bring(3)).toEqual({ state: 'ended' });
    await end(3);
    expect(await next()).toBeUndefined();
    expect(await service().leases.countWaiting(user)).toBe(1);
    // The share of a deleted run is free.
    await service().deleteSession({ ...user, sessionId: 's1' });
    expect(await startNext()).toEqual([4]);
  });

  test('a run that was stored anew after its publication is published again', async () => {
    await create(1, 2, 3);
    for (const n of [1, 2, 3]) await bring(n);
    await bring(3, { run: 'run of inv-3 in another message' });
    await end(1);
    expect(await service().leases.promote(inv(3), { run: run(3), running: 2 })).toBe(true);
    expect(await service().leases.nextRun(user, { running: 2 })).toEqual({
      sessionId: 's3',
      run: 'run of inv-3 in another message',
    });
  });

  test('gives nothing to a run that was published when the share is full again', async () => {
    await create(1, 2, 3);
    for (const n of [1, 2, 3]) await bring(n);
    expect(await service().leases.promote(inv(3), { run: run(3), running: 2 })).toBe(false);
    expect(await bring(3)).toMatchObject({ isFull: true });
  });

  test('passes over runs that cannot be published', async () => {
    await create(1, 2, 3, 4);
    for (const n of [1, 2, 3, 4]) await bring(n);
    await end(1);
    const next = (skip: number) => service().leases.nextRun(user, { running: 2, skip });
    expect(await next(1)).toEqual({ sessionId: 's4', run: run(4) });
    expect(await next(2)).toBeUndefined();
  });

  test('refuses a run of a user who has too many waiting runs, and records its end', async () => {
    await create(1, 2, 3, 4, 5, 6, 7);
    for (const n of [1, 2, 3, 4]) await bring(n);
    expect(await bring(5, { session: 4 })).toMatchObject({ isFull: true });
    expect(await bring(6)).toEqual({ state: 'refused' });
    expect(await service().invocations.get(inv(6))).toMatchObject(refusal);
    expect(await bring(6)).toEqual({ state: 'ended' });
    // A run that waits, or has waited, comes again.
    expect(await bring(5, { session: 4 })).toMatchObject({ isFull: true });
    // A run with no such limit.
    expect(await bring(7, { limits: { running: 2 } })).toMatchObject({ isFull: true });
    expect(await service().leases.countWaiting(user)).toBe(4);
    await end(1);
    expect(await startNext()).toEqual([3]);
  });

  test('a run that only waits gets nothing when it may begin', async () => {
    await create(1, 2, 3);
    expect(await bring(1, { onlyWaits: true })).toEqual({ state: 'free' });
    for (const n of [1, 2]) expect(await bring(n)).toMatchObject({ state: 'held', token: 1 });
    expect(await bring(3, { onlyWaits: true })).toEqual({ state: 'busy', isFull: true });
    expect(await service().leases.busyUsers(appName, 10)).toEqual([user]);
    await end(1);
    expect(await bring(3, { onlyWaits: true })).toEqual({ state: 'free' });
    expect(await startNext()).toEqual([3]);
    await service().leases.nextRun(user, { running: 3 });
    expect(await service().leases.busyUsers(appName, 10)).toEqual([]);
  });
}

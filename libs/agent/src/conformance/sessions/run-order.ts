import { expect, test } from 'vitest';
import type { EndingCommit } from '../../sessions/invocations.ts';
import type { TheService } from './kit.ts';
import { deltaOf, meshError, numberedRuns, take } from './kit.ts';

/** Tests of the order of runs, and of holders that give no sign of life: no clock frees a session. */
export function runOrder(service: TheService): void {
  const { session, inv, run, create, queue, end, promote } = numberedRuns(service);
  const refused = meshError('aborted');

  test('no clock takes the session from the run that has it', async () => {
    const picture = await create();
    const options = { run: run(1), whenBusy: 'enqueue', leaseMs: 1 } as const;
    expect(await service().leases.take(inv(1), options)).toMatchObject({ state: 'held', token: 1 });
    await expect.poll(() => service().leases.findSilent(session)).toMatchObject({ invocationId: 'inv-1' });
    expect(await queue(2)).toEqual({ state: 'busy', holder: 'inv-1' });
    const event = deltaOf({ n: 1 }, { invocationId: 'inv-1' });
    await service().appendEvent({ session: picture, event, token: 1 });
    expect(await service().leases.renew(inv(1), 1)).toEqual({});
    expect(await service().leases.nextRun(session)).toBeUndefined();
    await end(1);
    expect(await promote()).toBe(run(2));
  });

  test('returns a silent holder with its run until it gives a sign of life', async () => {
    await create();
    const find = () => service().leases.findSilent(session);
    const ask = (n: number) => service().leases.noteAsked(inv(n), 1);
    expect(await find()).toBeUndefined();
    await service().leases.take(inv(1), { run: run(1), whenBusy: 'enqueue', leaseMs: 1 });
    await expect.poll(find).toEqual({ invocationId: 'inv-1', run: run(1), asked: 0 });
    expect(await ask(2)).toBe(false);
    expect(await ask(1)).toBe(true);
    await expect.poll(find).toEqual({ invocationId: 'inv-1', run: run(1), asked: 1 });
    const failure = { status: 'failed', error: { code: 'unavailable', message: 'gone' } } as const;
    expect(await service().leases.abandon(inv(1), failure)).toBe(false);
    await service().leases.renew(inv(1), 1, 1);
    await expect.poll(find).toMatchObject({ asked: 0 });
    await service().leases.renew(inv(1), 1);
    expect(await find()).toBeUndefined();
    expect(await ask(1)).toBe(false);
    await end(1);
    expect(await find()).toBeUndefined();
  });

  test('finds a run silent that was published and does not arrive', async () => {
    await create();
    await take(service(), inv(1));
    await queue(2);
    await end(1);
    await service().leases.promote(inv(2), { leaseMs: 1 });
    await expect
      .poll(() => service().leases.findSilent(session))
      .toMatchObject({ invocationId: 'inv-2', run: run(2) });
    expect(await queue(2)).toMatchObject({ state: 'held', token: 1 });
  });

  test('ends silent work that no message can bring again, once, and frees the session', async () => {
    const picture = await create();
    await service().leases.take(inv(1), { run: '', whenBusy: 'reject', leaseMs: 1 });
    const failure = { status: 'failed', error: { code: 'unavailable', message: 'gone' } } as const;
    const find = () => service().leases.findSilent(session);
    await expect.poll(find).toMatchObject({ run: '', asked: 0 });
    expect(await service().leases.abandon(inv(1), failure)).toBe(false);
    expect(await service().leases.noteAsked(inv(1), 1)).toBe(true);
    await expect.poll(find).toMatchObject({ run: '', asked: 1 });
    expect(await service().leases.abandon(inv(2), failure)).toBe(false);
    expect(await service().leases.abandon(inv(1), failure)).toBe(true);
    expect(await service().leases.abandon(inv(1), failure)).toBe(false);
    expect(await service().invocations.get(inv(1))).toMatchObject(failure);
    const late = deltaOf({ n: 1 }, { invocationId: 'inv-1' });
    await expect(service().appendEvent({ session: picture, event: late, token: 1 })).rejects.toMatchObject(
      refused,
    );
    await expect(service().leases.renew(inv(1), 1)).rejects.toMatchObject(refused);
    expect(await service().invocations.end(inv(1), { status: 'completed' }, 1)).toMatchObject(failure);
    expect(await queue(2)).toMatchObject({ state: 'held' });
  });

  test('records the end of a rejected run when it finds the session busy', async () => {
    await create();
    const error = { code: 'resource_exhausted', message: 'busy' };
    const rejection = { status: 'failed', error } as const;
    const bring = (n: number, whenBusy: 'enqueue' | 'reject') =>
      service().leases.take(inv(n), { run: run(n), whenBusy, rejection, place: n });
    expect(await bring(1, 'reject')).toMatchObject({ state: 'held' });
    const rejected = { state: 'busy', holder: 'inv-1', isRejected: true };
    expect(await bring(2, 'reject')).toEqual(rejected);
    expect(await bring(3, 'enqueue')).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await service().invocations.get(inv(2))).toMatchObject(rejection);
    for (const n of [1, 3])
      expect(await service().invocations.get(inv(n))).toMatchObject({ status: 'running' });
    // A repeat of a waiting run.
    expect(await bring(4, 'enqueue')).toEqual({ state: 'busy', holder: 'inv-1' });
    expect(await bring(4, 'reject')).toEqual(rejected);
    await end(1);
    expect(await bring(2, 'reject')).toEqual({ state: 'ended' });
    expect(await promote()).toBe(run(3));
    await end(3);
    expect(await promote()).toBeUndefined();
    await service().deleteSession(session);
    expect(await bring(2, 'reject')).toEqual({ state: 'ended' });
  });

  test('a run that waited for a deleted session leaves the session that is made anew', async () => {
    await create();
    await take(service(), inv(1));
    for (const n of [2, 3]) await queue(n);
    await service().deleteSession(session);
    await create();
    expect(await queue(4)).toEqual({ state: 'busy' });
    await service().leases.leave(inv(4));
    for (const n of [2, 3]) {
      expect(await promote()).toBe(run(n));
      await service().leases.leave(inv(n));
    }
    expect(await promote()).toBe(run(4));
  });

  test('keeps the order of acceptance, whatever the order of arrival', async () => {
    await create();
    const bring = (n: number, place: number) =>
      service().leases.take(inv(n), { run: run(n), whenBusy: 'enqueue', place });
    await take(service(), inv(9));
    for (const n of [3, 1, 2]) expect(await bring(n, 10 * n)).toMatchObject({ state: 'busy' });
    await end(9);
    expect(await promote()).toBe(run(1));
    // The run is published again, behind others: its first place counts.
    expect(await bring(1, 99)).toMatchObject({ state: 'held' });
    await end(1);
    expect(await bring(4, 15)).toMatchObject({ state: 'held' });
    expect(await bring(5, 12)).toEqual({ state: 'busy', holder: 'inv-4' });
    await end(4);
    expect(await promote()).toBe(run(5));
    // An earlier run arrives before the promoted run has begun.
    expect(await bring(6, 11)).toEqual({ state: 'busy', holder: 'inv-5' });
    expect(await bring(5, 98)).toEqual({ state: 'busy' });
    expect(await promote()).toBe(run(6));
    expect(await bring(6, 97)).toMatchObject({ state: 'held' });
    await end(6);
    for (const n of [5, 2, 3]) {
      expect(await promote()).toBe(run(n));
      await end(n);
    }
  });

  test('a run waits for an earlier one that has not arrived, unless it has begun', async () => {
    await create();
    const bring = (n: number, place: number, earlier?: number, whenBusy: 'enqueue' | 'reject' = 'enqueue') =>
      service().leases.take(inv(n), { run: run(n), whenBusy, place, earlier });
    expect(await bring(2, 20, 10)).toEqual({ state: 'busy' });
    expect(await bring(3, 30, 10, 'reject')).toEqual({ state: 'busy', isRejected: true });
    expect(await promote()).toBe(run(2));
    expect(await bring(2, 21, 10)).toEqual({ state: 'busy' });
    expect(await bring(1, 10)).toMatchObject({ state: 'held' });
    expect(await bring(1, 10, 5)).toMatchObject({ state: 'held', begun: 2 });
    await end(1);
    expect(await promote()).toBe(run(2));
    // The message at 20 is later than the run's first place.
    expect(await bring(2, 22, 21)).toMatchObject({ state: 'held' });
  });

  test('keeps the ends of the runs of a deleted session for a while', async () => {
    await create();
    await take(service(), inv(1));
    await end(1);
    await take(service(), inv(2));
    await service().deleteSession(session);
    await create();
    expect(await service().invocations.get(inv(1))).toMatchObject({ status: 'completed' });
    const gone = { status: 'failed', error: { code: 'not_found' } };
    expect(await service().invocations.get(inv(2))).toMatchObject(gone);
    expect(await service().invocations.end(inv(2), { status: 'completed' })).toMatchObject(gone);
    for (const n of [1, 2]) expect(await queue(n)).toEqual({ state: 'ended' });
    expect(await queue(3)).toMatchObject({ state: 'held' });
  });

  test('refuses a run that was accepted for an earlier session of the id', async () => {
    await create();
    const turn = () => service().log.readTurn({ ...session, invocationId: 'inv-1' }, {});
    const incarnation = (await turn())?.incarnation;
    const bring = (n: number) =>
      service().leases.take(inv(n), { run: run(n), whenBusy: 'enqueue', incarnation });
    expect(await bring(1)).toMatchObject({ state: 'held' });
    await service().deleteSession(session);
    await create();
    expect((await turn())?.incarnation).not.toBe(incarnation);
    // Its run has ended with the session.
    expect(await bring(1)).toEqual({ state: 'ended' });
    expect(await bring(2)).toEqual({ state: 'gone' });
    expect(await queue(3)).toMatchObject({ state: 'held' });
  });

  test('ends a run before it is taken, and no run of another session', async () => {
    await create();
    expect(await service().invocations.cancel(inv(1), 'early')).toBeUndefined();
    const ended = { status: 'failed', error: { code: 'cancelled', message: 'early' } };
    expect(await service().invocations.cancel(inv(1), 'early', { untaken: true })).toMatchObject(ended);
    expect(await queue(1)).toEqual({ state: 'ended' });
    await take(service(), inv(2));
    const elsewhere = { ...inv(2), sessionId: 'another' };
    expect(await service().invocations.cancel(elsewhere, 'not mine', { untaken: true })).toBeUndefined();
    expect(await service().invocations.get(inv(2))).toMatchObject({ status: 'running' });
  });

  test('ends a run that continues an invocation before it is taken, and no other run of the invocation', async () => {
    await create();
    const token = await take(service(), inv(1));
    await service().invocations.end(inv(1), { status: 'completed', waits: true }, token);
    const [early, other] = ['early', 'other'].map((resume) => ({ ...inv(1), resume }));
    if (!early || !other) return expect.fail();
    const cancel = (options = {}) => service().invocations.cancel(early, 'too early', options);
    expect(await cancel()).toBeUndefined();
    const record = await cancel({ untaken: true });
    expect(record?.status).toBe('completed');
    expect(record?.ends?.get('early')).toMatchObject({ status: 'failed', error: { code: 'cancelled' } });
    expect(await cancel()).toEqual(record);
    const bring = (ref: typeof early) =>
      service().leases.take(ref, { run: `run of ${ref.resume}`, whenBusy: 'enqueue' });
    expect(await bring(early)).toEqual({ state: 'ended' });
    expect(await bring(other)).toMatchObject({ state: 'held' });
  });

  test('ends a run in the step that commits its last event', async () => {
    const picture = await create();
    const commit = async (n: number, token: number) => {
      const end: EndingCommit = { as: { status: 'completed' } };
      const event = deltaOf({ n }, { id: `last-${n}`, invocationId: `inv-${n}` });
      await service().appendEvent({ session: picture, event, token, end });
      return end.isIdle;
    };
    await take(service(), inv(1));
    await queue(2);
    expect(await commit(1, 1)).toBe(false);
    expect(await service().invocations.get(inv(1))).toMatchObject({ status: 'completed' });
    const late = deltaOf({ n: 0 }, { invocationId: 'inv-1' });
    await expect(service().appendEvent({ session: picture, event: late, token: 1 })).rejects.toMatchObject(
      refused,
    );
    expect(await promote()).toBe(run(2));
    expect(await queue(2)).toMatchObject({ state: 'held', token: 1 });
    expect(await commit(2, 1)).toBe(true);
    // The answer to a commit may be lost on its way: a repetition changes nothing.
    expect(await commit(2, 1)).toBe(true);
    expect(await service().getSession(session)).toMatchObject({ seq: 2, state: { n: 2 } });
    const failure = { status: 'failed', error: { code: 'cancelled', message: 'late' } } as const;
    expect(await service().invocations.end(inv(2), failure)).toMatchObject({ status: 'completed' });
  });
}

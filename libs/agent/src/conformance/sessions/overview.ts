import { expect, test } from 'vitest';
import { mostRecentRuns } from '../../sessions/overview.ts';
import type { TheService } from './kit.ts';
import { appName, eventOf, take, userId } from './kit.ts';

/** Tests of the lists over all users of an app. */
export function overview(service: TheService): void {
  const user = { appName, userId };
  const bob = { appName, userId: 'bob b' };
  const begin = async (owner: typeof user, sessionId: string, n: string) => {
    const ref = { ...owner, sessionId, invocationId: `inv-${n}` };
    await service().leases.take(ref, { run: 'r', whenBusy: 'enqueue', agent: 'helper' });
    return ref;
  };
  const ids = async (page: { limit?: number; before?: number } = {}) =>
    (await service().overview.recentRuns(appName, { limit: 10, ...page })).map(
      ({ invocationId }) => invocationId,
    );

  test('lists the runs of all users, newest first, in pages, also those that wait', async () => {
    await service().createSession({ ...user, sessionId: 's' });
    await service().createSession({ ...bob, sessionId: 'a:b' });
    const from = Date.now();
    await begin(user, 's', '1');
    await begin(bob, 'a:b', '2');
    await begin(user, 's', '3');
    expect(await ids()).toEqual(['inv-3', 'inv-2', 'inv-1']);
    const [waiting, second] = await service().overview.recentRuns(appName, { limit: 2 });
    expect(waiting).toMatchObject({ ...user, sessionId: 's', agent: 'helper' });
    expect(second).toEqual({
      ...{ ...bob, sessionId: 'a:b', invocationId: 'inv-2', agent: 'helper' },
      since: expect.any(Number),
    });
    expect(second?.since).toBeGreaterThanOrEqual(from);
    expect(await ids({ before: second?.since ?? 0 })).toEqual(['inv-1']);
    expect(await service().overview.recentRuns('other_app', { limit: 10 })).toEqual([]);
  });

  test('a later delivery changes nothing, and a run that continues the invocation is new again', async () => {
    await service().createSession({ ...user, sessionId: 's' });
    const ref = await begin(user, 's', '1');
    const [first] = await service().overview.recentRuns(appName, { limit: 1 });
    await service().createSession({ ...bob, sessionId: 't' });
    await begin(bob, 't', '2');
    await take(service(), ref);
    expect(await ids()).toEqual(['inv-2', 'inv-1']);
    expect(await service().overview.findRun(appName, 'inv-1')).toEqual(first);
    await service().invocations.end(ref, { status: 'completed', waits: true });
    await take(service(), { ...ref, resume: 'answer' });
    expect(await ids()).toEqual(['inv-1', 'inv-2']);
  });

  test('finds a run by the id of its invocation', async () => {
    await service().createSession({ ...bob, sessionId: 't' });
    await begin(bob, 't', '2');
    expect(await service().overview.findRun(appName, 'inv-2')).toMatchObject({ ...bob, sessionId: 't' });
    expect(await service().overview.findRun(appName, 'inv-3')).toBeUndefined();
    expect(await service().overview.findRun('other_app', 'inv-2')).toBeUndefined();
  });

  test('forgets the oldest runs', async () => {
    const ref = { ...user, sessionId: 's' };
    await service().createSession(ref);
    const numbers = Array.from({ length: mostRecentRuns + 1 }, (_, n) => n);
    for (const n of numbers)
      await service().leases.take({ ...ref, invocationId: `inv-${n}` }, { run: '', whenBusy: 'reject' });
    expect(await ids({ limit: 2 * mostRecentRuns })).toHaveLength(mostRecentRuns);
    expect(await service().overview.findRun(appName, 'inv-0')).toBeUndefined();
    expect(await service().overview.findRun(appName, 'inv-1')).toBeDefined();
  });

  test('forgets the runs of a deleted session, and of a deleted user', async () => {
    await service().createSession({ ...user, sessionId: 's' });
    await service().createSession({ ...user, sessionId: 's2' });
    await service().createSession({ ...bob, sessionId: 's' });
    await begin(user, 's', '1');
    await begin(user, 's2', '2');
    await begin(bob, 's', '3');
    await service().deleteSession({ ...user, sessionId: 's' });
    expect(await ids()).toEqual(['inv-3', 'inv-2']);
    await begin(user, 's', '4');
    await service().users.deleteRest(user);
    expect(await ids()).toEqual(['inv-3']);
  });

  test('lists the users who have pending calls', async () => {
    const asks = (id: string) =>
      eventOf({
        longRunningToolIds: [id],
        content: { role: 'model', parts: [{ functionCall: { id, name: 'approve', args: {} } }] },
      });
    const list = async (limit = 10) =>
      (await service().overview.waitingUsers(appName, limit)).map((each) => each.userId);
    const anns = await service().createSession({ ...user, sessionId: 's' });
    const bobs = await service().createSession({ ...bob, sessionId: 's' });
    expect(await list()).toEqual([]);
    await service().appendEvent({ session: anns, event: asks('c1') });
    await expect.poll(() => Date.now()).toBeGreaterThan(anns.lastUpdateTime);
    await service().appendEvent({ session: bobs, event: asks('c2') });
    expect((await list()).sort()).toEqual([userId, bob.userId].sort());
    expect(await list(1)).toHaveLength(1);
    const answer = { id: 'c1', name: 'approve', response: { ok: true } };
    const content = { role: 'user', parts: [{ functionResponse: answer }] };
    await service().appendEvent({ session: anns, event: eventOf({ author: 'user', content }) });
    expect(await list()).toEqual([bob.userId]);
    await service().deleteSession({ ...bob, sessionId: 's' });
    expect(await list()).toEqual([]);
  });
}

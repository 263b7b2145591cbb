import { expect, test } from 'vitest';
import type { StoredEvent } from '../../sessions/session-log.ts';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, refOf, take, userId } from './kit.ts';

/** Tests of the records of a user. */
export function users(service: TheService): void {
  const user = { appName, userId };
  const create = (sessionId: string, more: { hidden?: boolean; state?: Record<string, unknown> } = {}) =>
    service().createSession({ ...user, sessionId, ...more });
  const asking = (id: string) =>
    eventOf({
      longRunningToolIds: [id],
      content: { role: 'model', parts: [{ functionCall: { id, name: 'child', args: {} } }] },
    });

  test('names all sessions of the user, hidden ones among them, and nobody else’s', async () => {
    await create('seen');
    const hidden = await create('hidden', { hidden: true });
    await service().appendEvent({ session: hidden, event: eventOf() });
    await service().createSession({ appName, userId: 'bob', sessionId: 'other' });
    const ids = async () => (await service().users.sessionIds(user)).sort();
    expect(await ids()).toEqual(['hidden', 'seen']);
    await service().deleteSession({ ...user, sessionId: 'hidden' });
    expect(await ids()).toEqual(['seen']);
  });

  test('returns the initial and the current state of a session', async () => {
    const session = await create('s', { state: { a: 1, 'user:b': 2, 'app:c': 3 } });
    const event = deltaOf({ a: 2, 'user:d': 4 });
    await service().appendEvent({ session, event });
    expect(await service().users.readSession(refOf(session))).toEqual({
      ...{ sessionId: 's', hidden: false, seq: 1, updated: event.timestamp, created: expect.any(Number) },
      ...{ state: { a: 2 }, initialState: { a: 1 } },
    });
    expect(await service().users.readState(user)).toEqual({ 'user:b': 2, 'user:d': 4 });
    expect(await service().users.readSession({ ...user, sessionId: 'none' })).toBeUndefined();
  });

  test('knows which runs have a session, and which wait for it', async () => {
    const ref = refOf(await create('s'));
    await take(service(), { ...ref, invocationId: 'e-1' });
    await service().leases.take({ ...ref, invocationId: 'e-2' }, { run: 'r', whenBusy: 'enqueue' });
    const ids = async () => (await service().users.runsIn(ref)).map(({ invocationId }) => invocationId);
    expect(await ids()).toEqual(['e-1', 'e-2']);
    expect(await service().users.hasSession(ref)).toBe(true);
    await service().deleteSession(ref);
    expect(await service().users.hasSession(ref)).toBe(false);
    expect(await ids()).toEqual(['e-2']);
    await service().users.forgetQueue(ref);
    expect(await ids()).toEqual([]);
    expect(await service().leases.nextRun(ref)).toBeUndefined();
    expect(await service().leases.busySessions(ref.appName, 10)).toEqual([]);
  });

  test('forgets user state and records, and no state of the app', async () => {
    const session = await create('s', { state: { 'user:b': 2, 'app:c': 3 } });
    await service().appendEvent({ session, event: deltaOf({ 'temp:t': 1 }) });
    const attempt = async (sessionId: string) =>
      await service().invocations.beginAttempt(
        { ...user, sessionId, invocationId: `of ${sessionId}` },
        'part',
      );
    // One record belongs to an invocation without events, one to an invocation that came too late.
    await attempt('s');
    await service().deleteSession(refOf(session));
    expect((await attempt('s')).number).toBe(1);
    expect(await service().users.deleteRest(user)).toEqual({ stateKeys: 1, pending: 0, others: 1 });
    expect(await service().users.deleteRest(user)).toEqual({ stateKeys: 0, pending: 0, others: 0 });
    expect((await create('new')).state).toEqual({ 'app:c': 3 });
  });

  test('passes on the pages of a log, and of hidden sessions, before their deletion', async () => {
    const session = await create('s');
    await service().appendEvent({ session, event: asking('adk-1') });
    const child = await create('adk-1', { hidden: true });
    await service().appendEvent({ session: child, event: eventOf() });
    const seen: [string, number][] = [];
    await service().deleteSession(refOf(session), {
      async onEvents({ sessionId }, page: readonly StoredEvent[]) {
        seen.push([sessionId, page.length]);
      },
    });
    expect(seen.sort()).toEqual([
      ['adk-1', 0],
      ['adk-1', 1],
      ['s', 0],
      ['s', 1],
    ]);
    expect(await service().pending.sessionsAsking('adk-1')).toEqual([]);
  });
}

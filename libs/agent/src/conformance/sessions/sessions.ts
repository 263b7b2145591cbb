import { expect, test } from 'vitest';
import { createEvent } from '../../events/event.ts';
import type { ListSessionsRequest } from '../../sessions/session-list.ts';
import type { TheService } from './kit.ts';
import { appName, deltaOf, eventOf, meshError, refOf, reread, userId } from './kit.ts';

/** Tests of creating, listing and deleting. */
export function sessions(service: TheService): void {
  const create = (sessionId?: string) =>
    service().createSession({ appName, userId, ...(sessionId && { sessionId }) });
  const list = (page: Partial<ListSessionsRequest> = {}) =>
    service().listSessions({ appName, userId, ...page });
  const ids = async (page = {}) => (await list(page)).sessions.map(({ id }) => id);

  test('generates an id', async () => {
    const before = Date.now();
    const [one, two] = [await create(), await create()];
    expect(one.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(two.id).not.toBe(one.id);
    expect(one).toEqual({
      id: one.id,
      appName,
      userId,
      state: {},
      events: [],
      lastUpdateTime: expect.any(Number),
      seq: 0,
    });
    expect(one.lastUpdateTime).toBeGreaterThanOrEqual(before);
    expect(await reread(service(), one)).toEqual(one);
  });

  test('refuses an id in use, and changes nothing', async () => {
    await service().createSession({ appName, userId, sessionId: 's', state: { a: 1 } });
    const again = service().createSession({
      appName,
      userId,
      sessionId: 's',
      state: { a: 2, 'user:b': 2, 'app:c': 2 },
    });
    await expect(again).rejects.toMatchObject(meshError('already_exists'));
    expect((await service().getSession({ appName, userId, sessionId: 's' }))?.state).toEqual({ a: 1 });
  });

  test('creates a session once for many concurrent callers', async () => {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => create('s')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('returns undefined for an unknown session', async () => {
    await create('s');
    expect(await service().getSession({ appName, userId, sessionId: 'other' })).toBeUndefined();
    expect(await service().getSession({ appName, userId: 'bob', sessionId: 's' })).toBeUndefined();
    expect(await service().getSession({ appName: 'bank', userId, sessionId: 's' })).toBeUndefined();
  });

  test('keeps users apart that use the same session id', async () => {
    const mine = await create('s');
    const theirs = await service().createSession({ appName, userId: 'bob', sessionId: 's' });
    await service().appendEvent({ session: mine, event: deltaOf({ a: 1 }) });
    expect(await reread(service(), theirs)).toEqual(theirs);
  });

  test('lists the newest first, without events, with state', async () => {
    const one = await service().createSession({
      appName,
      userId,
      sessionId: 'one',
      state: { a: 1, 'user:b': 2, 'app:c': 3 },
    });
    const two = await create('two');
    await service().createSession({ appName, userId: 'bob', sessionId: 'not-mine' });
    const later = Date.now() + 1_000;
    await service().appendEvent({ session: two, event: eventOf({ timestamp: later }) });
    await service().appendEvent({ session: one, event: eventOf({ timestamp: later + 1 }) });
    const { sessions, totalItems } = await list();
    expect(totalItems).toBe(2);
    expect(sessions).toMatchObject([
      { id: 'one', appName, userId, events: [], seq: 1, lastUpdateTime: later + 1 },
      { id: 'two', events: [], seq: 1, lastUpdateTime: later },
    ]);
    expect(sessions.map(({ state }) => state)).toEqual([
      { a: 1, 'user:b': 2, 'app:c': 3 },
      { 'user:b': 2, 'app:c': 3 },
    ]);
  });

  test('lists in pages', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const session = await create(id);
      await service().appendEvent({ session, event: eventOf({ timestamp: 2e12 + id.charCodeAt(0) }) });
    }
    expect(await ids({ limit: 2 })).toEqual(['e', 'd']);
    expect(await ids({ limit: 2, offset: 2 })).toEqual(['c', 'b']);
    expect(await ids({ offset: 4 })).toEqual(['a']);
    expect(await ids({ offset: 9 })).toEqual([]);
    expect(await list({ limit: 0 })).toMatchObject({ sessions: [], totalItems: 5, totalPages: 0 });
    await expect(list({ limit: -1 })).rejects.toMatchObject(meshError('invalid_argument'));
    await expect(list({ offset: 0.5 })).rejects.toMatchObject(meshError('invalid_argument'));
  });

  test('lists by the number of a page, and the oldest first', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const session = await create(id);
      await service().appendEvent({ session, event: eventOf({ timestamp: 2e12 + id.charCodeAt(0) }) });
    }
    const { sessions, ...numbers } = await list({ page: 2, limit: 2, offset: 4 });
    expect(sessions.map(({ id }) => id)).toEqual(['c', 'b']);
    expect(numbers).toEqual({ page: 2, limit: 2, totalItems: 5, totalPages: 3 });
    expect(await ids({ order: 'asc', limit: 2 })).toEqual(['a', 'b']);
    expect(await ids({ order: 'asc', limit: 2, page: 3 })).toEqual(['e']);
    expect(await ids({ order: 'desc' })).toEqual(['e', 'd', 'c', 'b', 'a']);
    expect(await list({ limit: 2, offset: 4 })).toMatchObject({ page: 3 });
  });

  test.each([
    ['a page without its size', { page: 2 }, 'page needs a limit'],
    ['a page before the first', { page: 0, limit: 2 }, 'page must be a whole number from 1'],
    ['an order that is none', { order: 'newest' as 'asc' }, 'order must be asc or desc'],
    ['all users', { userId: undefined }, 'listSessions needs a userId'],
  ])('does not list %s', async (_what, page, words) => {
    await expect(list(page)).rejects.toMatchObject({
      ...meshError('invalid_argument'),
      message: expect.stringContaining(words),
    });
  });

  test('gets a session, or creates it once for many concurrent callers', async () => {
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        service().getOrCreateSession({ appName, userId, sessionId: 's', state: { n } }),
      ),
    );
    const [first] = asked;
    expect(asked).toEqual(asked.map(() => first));
    const event = eventOf();
    if (first) await service().appendEvent({ session: first, event });
    const found = await service().getOrCreateSession({ appName, userId, sessionId: 's' });
    expect(found.events).toEqual([event]);
    expect((await service().getOrCreateSession({ appName, userId })).id).not.toBe('s');
    expect((await list()).totalItems).toBe(2);
  });

  test('lists at most 100 by default', async () => {
    await Promise.all(Array.from({ length: 101 }, () => create()));
    const { sessions, totalItems } = await list();
    expect([sessions.length, totalItems]).toEqual([100, 101]);
  });

  test('orders sessions of the same instant the same way on every page', async () => {
    for (const id of ['b', 'a', 'c']) {
      await service().appendEvent({ session: await create(id), event: eventOf({ timestamp: 2e12 }) });
    }
    expect([...(await ids({ limit: 1 })), ...(await ids({ limit: 2, offset: 1 }))]).toEqual(['c', 'b', 'a']);
  });

  test('does not list a hidden session, even when events come', async () => {
    const hidden = await service().createSession({ appName, userId, sessionId: 'h', hidden: true });
    await service().appendEvent({ session: hidden, event: eventOf() });
    expect(await list()).toMatchObject({ sessions: [], totalItems: 0 });
    expect(await reread(service(), hidden)).toMatchObject({ id: 'h', seq: 1 });
  });

  test('deletes all of a session but user and app state', async () => {
    const state = { a: 1, 'user:b': 2, 'app:c': 3 };
    const session = await service().createSession({ appName, userId, sessionId: 's', state });
    const event = eventOf({ actions: { stateDelta: { 'temp:t': 1 }, transferToAgent: 'other' } });
    await service().appendEvent({ session, event });
    await service().deleteSession(refOf(session));
    expect(await service().getSession(refOf(session))).toBeUndefined();
    expect(await service().log.readEvents(refOf(session))).toEqual([]);
    expect(await list()).toMatchObject({ sessions: [], totalItems: 0 });
    const record = await service().invocations.get({ ...refOf(session), invocationId: event.invocationId });
    expect(record.temp).toEqual({});
    const reborn = await create('s');
    expect(reborn).toMatchObject({ seq: 0, state: { 'user:b': 2, 'app:c': 3 } });
  });

  test('deletes the sessions of asks with the session that asked, and no others', async () => {
    const session = await service().createSession({ appName, userId });
    const call = { id: 'adk-1', name: 'child', args: {} };
    const parts = [{ functionCall: call }, { functionCall: { ...call, id: 'own' } }];
    const event = createEvent({ invocationId: 'e-1', author: 'a', content: { role: 'model', parts } });
    await service().appendEvent({ session, event });
    await service().createSession({ appName, userId, sessionId: 'adk-1', hidden: true });
    await service().createSession({ appName, userId, sessionId: 'own' });
    await service().deleteSession(refOf(session));
    expect(await service().getSession({ appName, userId, sessionId: 'adk-1' })).toBeUndefined();
    expect(await service().getSession({ appName, userId, sessionId: 'own' })).toBeDefined();
  });

  test('deletes what is not there without a word', async () => {
    await service().deleteSession({ appName, userId, sessionId: 'nobody' });
  });

  test('does not append to a deleted session (ADK defect B25)', async () => {
    const session = await create('s');
    await service().deleteSession(refOf(session));
    const append = service().appendEvent({ session, event: deltaOf({ a: 1, 'user:b': 1 }) });
    await expect(append).rejects.toMatchObject(meshError('not_found'));
    expect((await create('s')).state).toEqual({});
  });

  test('does not append for a reader of a session that was deleted and created anew', async () => {
    const old = await create('s');
    await service().appendEvent({ session: old, event: eventOf() });
    await service().deleteSession(refOf(old));
    const reborn = await create('s');
    await expect(service().appendEvent({ session: old, event: eventOf() })).rejects.toMatchObject(
      meshError('not_found'),
    );
    expect(await reread(service(), reborn)).toMatchObject({ seq: 0, events: [] });
  });

  test("keeps the caller's invocation when a child session that shares it is deleted", async () => {
    const [caller, child] = [await create('caller'), await create('child')];
    await service().appendEvent({ session: caller, event: deltaOf({ 'temp:t': 1 }) });
    const event = eventOf({ id: 'in-child' });
    await service().appendEvent({ session: child, event });
    await service().deleteSession(refOf(child));
    const record = await service().invocations.get({ ...refOf(caller), invocationId: 'inv-1' });
    expect(record.temp).toEqual({ 'temp:t': 1 });
    const reborn = await create('child');
    await service().appendEvent({ session: reborn, event });
    expect(reborn.events).toEqual([event]);
  });
}

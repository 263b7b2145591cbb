import { expect, test } from 'vitest';
import type { TheService } from './kit.ts';
import { appName, deltaOf, refOf, reread, userId } from './kit.ts';

/** Tests of the scopes of state keys. */
export function stateScopes(service: TheService): void {
  const create = (user: string, state = {}, app = appName) =>
    service().createSession({ appName: app, userId: user, state });
  const stateOf = async (user: string, app = appName) => (await create(user, {}, app)).state;

  test('splits the state of a new session by scope, and drops temp: keys', async () => {
    const session = await create(userId, { a: 1, 'user:b': 2, 'app:c': 3, 'temp:d': 4 });
    expect(session.state).toEqual({ a: 1, 'user:b': 2, 'app:c': 3 });
    expect((await reread(service(), session)).state).toEqual(session.state);
    expect(await stateOf(userId)).toEqual({ 'user:b': 2, 'app:c': 3 });
    expect(await stateOf('bob')).toEqual({ 'app:c': 3 });
    expect(await stateOf(userId, 'bank')).toEqual({});
  });

  test('splits a delta by scope', async () => {
    const session = await create(userId, { a: 0, kept: true });
    const open = await create(userId);
    const event = deltaOf({ a: { deep: [1] }, 'user:b': 2, 'app:c': null, 'temp:d': 4 });
    const committed = await service().appendEvent({ session, event });
    const lasting = { a: { deep: [1] }, 'user:b': 2, 'app:c': null };
    expect(committed.actions.stateDelta).toEqual(lasting);
    expect(session.state).toEqual({ ...lasting, kept: true, 'temp:d': 4 });
    expect((await reread(service(), session)).state).toEqual({ ...lasting, kept: true });
    expect((await reread(service(), open)).state).toEqual({ 'user:b': 2, 'app:c': null });
    expect(await stateOf('bob')).toEqual({ 'app:c': null });
    expect(await stateOf(userId, 'bank')).toEqual({});
  });

  test("keeps temp: keys in the invocation's record alone", async () => {
    const session = await create(userId);
    await service().appendEvent({ session, event: deltaOf({ 'temp:a': 1, 'temp:b': 1 }) });
    await service().appendEvent({ session, event: deltaOf({ 'temp:a': [2] }) });
    await service().appendEvent({ session, event: deltaOf({ 'temp:c': 3 }, { invocationId: 'inv-2' }) });
    const stored = await reread(service(), session);
    expect(stored.state).toEqual({});
    expect(stored.events.map(({ actions }) => actions.stateDelta)).toEqual([{}, {}, {}]);
    const of = (invocationId: string) => service().invocations.get({ ...refOf(session), invocationId });
    expect((await of('inv-1')).temp).toEqual({ 'temp:a': [2], 'temp:b': 1 });
    expect((await of('inv-2')).temp).toEqual({ 'temp:c': 3 });
  });

  test('stores null as null and drops undefined', async () => {
    const session = await create(userId, { a: 1, b: undefined });
    await service().appendEvent({ session, event: deltaOf({ a: null, c: undefined }) });
    expect(session.state).toStrictEqual({ a: null });
    expect((await reread(service(), session)).state).toStrictEqual({ a: null });
  });

  test('takes the last write of app: state', async () => {
    const [mine, theirs] = [await create('ann'), await create('bob')];
    for (let round = 1; round <= 20; round += 1) {
      const [session, value] = round % 2 ? [mine, `ann ${round}`] : [theirs, `bob ${round}`];
      await service().appendEvent({ session, event: deltaOf({ 'app:last': value }) });
      expect((await reread(service(), mine)).state).toEqual({ 'app:last': value });
      expect((await reread(service(), theirs)).state).toEqual({ 'app:last': value });
    }
  });

  test('loses no key of app: state that two users write at once', async () => {
    const sessions = [await create('ann'), await create('bob')];
    const writes = sessions.flatMap((session) =>
      Array.from({ length: 20 }, (_, n) =>
        service().appendEvent({
          session,
          event: deltaOf({ [`app:${session.userId}${n}`]: n, 'app:both': session.userId }),
        }),
      ),
    );
    await Promise.all(writes);
    const state = await stateOf('carol');
    expect(Object.keys(state)).toHaveLength(41);
    expect(['ann', 'bob']).toContain(state['app:both']);
    expect((await reread(service(), sessions[0] ?? expect.fail())).state).toEqual(state);
  });

  test('takes keys that an object treats specially', async () => {
    const strange = [
      '__proto__',
      'constructor',
      'toString',
      '',
      ' ',
      'a:b',
      'user',
      'app',
      '\u0000',
      '🦊',
      'e:1',
      'status',
    ];
    const keys = strange.flatMap((key) => [key, `user:${key}`, `app:${key}`, `temp:${key}`]);
    const delta = Object.fromEntries(keys.map((key, at) => [key, at]));
    const session = await create(userId);
    await service().appendEvent({ session, event: deltaOf(delta) });
    const sorted = (state: object) => Object.entries(state).sort();
    expect(sorted(session.state)).toEqual(sorted(delta));
    const lasting = Object.entries(delta).filter(([key]) => !key.startsWith('temp:'));
    expect(sorted((await reread(service(), session)).state)).toEqual(lasting.sort());
    const { temp } = await service().invocations.get({ ...refOf(session), invocationId: 'inv-1' });
    expect(sorted(temp)).toEqual(
      Object.entries(delta)
        .filter(([key]) => key.startsWith('temp:'))
        .sort(),
    );
    expect(sorted((await create(userId, delta)).state)).toEqual(lasting.sort());
  });

  test('takes a delta of 5,000 keys', async () => {
    const session = await create(userId);
    const keys = Array.from({ length: 5_000 }, (_, n) => `${n % 2 ? 'app:' : ''}k${n}`);
    await service().appendEvent({
      session,
      event: deltaOf(Object.fromEntries(keys.map((key) => [key, key]))),
    });
    expect(Object.keys((await reread(service(), session)).state)).toHaveLength(5_000);
  });
}

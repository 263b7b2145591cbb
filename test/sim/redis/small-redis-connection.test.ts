import { createEvent } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ensureFunctions } from '../../../libs/store/src/functions.ts';
import { storeOn } from '../../../libs/store/src/redis-store.ts';
import { SmallRedis } from './small-redis.ts';
import type { RoundTripHooks } from './small-redis-client.ts';
import { smallRedisConnection } from './small-redis-connection.ts';

const ref = { appName: 'shop', userId: 'ann', sessionId: 's' };
const event = () => createEvent({ id: 'e', invocationId: 'i', author: 'helper' });

/** Opens a store on a new server whose functions are loaded, and writes down its round trips. */
async function open(hooks?: RoundTripHooks) {
  const server = new SmallRedis({ now: Date.now });
  await ensureFunctions(smallRedisConnection(server));
  const trips: string[] = [];
  const connection = smallRedisConnection(server, {
    call(name, carryOut, waits) {
      trips.push(name);
      return hooks ? hooks.call(name, carryOut, waits) : Promise.resolve().then(carryOut);
    },
  });
  return { server, trips, connection, store: storeOn(connection, {}) };
}

describe('a round trip', () => {
  it('has the name of its script or of its command', async () => {
    const { store, trips } = await open();
    const session = await store.sessions.createSession(ref);
    await store.sessions.appendEvent({ session, event: event() });
    await store.callResults.get('tool', 'call');
    expect(trips).toEqual(['createScript', 'commitScript', 'hget']);
  });

  it('commits a step of a run by a small script, and one that changes state by the full one', async () => {
    const { store, trips } = await open();
    const { sessions } = store;
    const session = await sessions.createSession(ref);
    const first = createEvent({ invocationId: 'i', author: 'user' });
    await sessions.leases.take({ ...ref, invocationId: 'i' }, { run: '', whenBusy: 'reject', first });
    trips.length = 0;
    const commit = (more: object = {}, end = false) =>
      sessions.appendEvent({
        ...{ session, token: 1, event: createEvent({ invocationId: 'i', author: 'helper', ...more }) },
        ...(end && { end: { as: { status: 'completed' as const } } }),
      });
    await commit();
    await commit({ longRunningToolIds: ['c'] });
    await commit({ actions: { stateDelta: { a: 1 } } });
    await commit({}, true);
    expect(trips.filter((name) => name.endsWith('Script'))).toEqual([
      ...['plainCommitScript', 'commitScript', 'commitScript', 'plainEndScript'],
    ]);
    expect((await sessions.getSession(ref))?.events).toHaveLength(5);
  });

  it('may be carried out twice: its caller had no reply to the first', async () => {
    const twice: RoundTripHooks = {
      async call(_, carryOut) {
        carryOut();
        return carryOut();
      },
    };
    const { store } = await open(twice);
    const session = await store.sessions.createSession(ref);
    await store.sessions.appendEvent({ session, event: event() });
    expect((await store.sessions.getSession(ref))?.events).toHaveLength(1);
  });

  it('that fails on the way is an error of a server that does not answer', async () => {
    const broken = async () => Promise.reject(new Error('cut'));
    const { store } = await open({ call: broken });
    await expect(store.sessions.getSession(ref)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'redis does not answer: cut',
    });
  });

  it('loads a function that the server has lost', async () => {
    const { store, server, trips } = await open();
    server.call('FUNCTION', ['FLUSH']);
    await store.sessions.createSession(ref);
    expect(trips.filter((name) => name !== 'hgetall')).toEqual(['createScript', 'function', 'createScript']);
  });

  it('is not made on a connection that is closed', async () => {
    const { connection, trips } = await open();
    await connection[Symbol.asyncDispose]();
    await expect(connection.ping()).rejects.toThrow(MeshError);
    expect(trips).toEqual([]);
  });
});

it('lists the keys of a pattern', async () => {
  const { connection, server } = await open();
  for (const key of ['am:[x]*:a', 'am:[x]*:b', 'am:x:a', 'am:é:a']) server.call('SET', [key, '1']);
  expect(await connection.keysLike('am:\\[x\\]\\**')).toEqual(['am:[x]*:a', 'am:[x]*:b']);
  expect(await connection.keysLike('am:[xy]:?')).toEqual(['am:x:a']);
});

describe('with a clock that stands', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 5_000_000_000 }));
  afterEach(() => void vi.useRealTimers());

  /** Runs the same work on a new server. Returns all that the server has then. */
  async function workOnce(at: number) {
    vi.setSystemTime(at);
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const { store, connection } = await open();
    const session = await store.sessions.createSession({ ...ref, state: { a: 1, 'app:b': 2 } });
    const run = { run: 'r', whenBusy: 'enqueue' } as const;
    await store.sessions.leases.take({ ...ref, invocationId: 'i' }, run);
    await store.sessions.appendEvent({ session, event: event() });
    vi.restoreAllMocks();
    const times = await connection.run((redis) =>
      redis.zrange('am:{shop}:recent-runs', '0', '-1', 'WITHSCORES'),
    );
    return { times, keys: (await connection.keysLike('*')).sort() };
  }

  it('a store does the same again, also when another one in the process was at a later time', async () => {
    const first = await workOnce(6_000_000_000);
    expect(first.times).toEqual(['i', '6000000000']);
    expect(await workOnce(5_000_000_000)).toEqual({ ...first, times: ['i', '5000000000'] });
  });
});

import type { SessionService } from '@agentmesh/agent';
import { type Event, keys, MeshError, shortId } from '@agentmesh/protocol';
import {
  pauseProcess,
  type RedisCluster,
  type RedisNode,
  type RedisSentinel,
  startRedisCluster,
  startRedisSentinel,
  until,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectRedisStore, type RedisStoreOptions } from '../redis-store.ts';
import { connectRedis } from './redis-connection.ts';

const appName = 'shop';

function eventOf(id: string): Event {
  const actions = {
    stateDelta: { [id]: 1, [`user:${id}`]: 1, [`app:${id}`]: 1 },
    artifactDelta: {},
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
  };
  return { id, invocationId: 'inv-1', author: 'helper', timestamp: Date.now(), actions };
}

async function connect(options: RedisStoreOptions) {
  const store = await connectRedisStore({ onError: () => {}, ...options });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

/** Commits events until it is stopped, repeating each until it is acknowledged. Returns their ids. */
async function keepCommitting(
  sessions: SessionService,
  userId: string,
  isOver: () => boolean,
): Promise<string[]> {
  const ref = { appName, userId, sessionId: 's' };
  const ids: string[] = [];
  while (!isOver()) {
    const id = `e${ids.length}`;
    await until(
      async () => {
        const session = (await sessions.getSession(ref)) ?? expect.fail();
        return await sessions.appendEvent({ session, event: eventOf(id) });
      },
      { timeoutMs: 30_000, what: `event ${id} to be committed` },
    );
    ids.push(id);
  }
  return ids;
}

const idsOf = async (sessions: SessionService, userId: string) =>
  (await sessions.log.readEvents({ appName, userId, sessionId: 's' })).map(({ event }) => event.id);

describe('a cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  /** Returns the present server of a slot and the one to which it may move. */
  async function move(key: string) {
    const from = await cluster.primaryOf(key);
    const to = await otherPrimary(cluster, from);
    const slot = Number(await from.command(['CLUSTER', 'KEYSLOT', key]));
    const [fromId, toId] = [
      await from.command(['CLUSTER', 'MYID']),
      await to.command(['CLUSTER', 'MYID']),
    ].map(String);
    return {
      async begin() {
        await to.command(['CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId ?? '']);
        await from.command(['CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId ?? '']);
      },
      async end() {
        const names = (await from.command(['CLUSTER', 'GETKEYSINSLOT', slot, 1_000])) as string[];
        if (names.length > 0)
          await from.command(['MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...names]);
        for (const node of [to, from]) await node.command(['CLUSTER', 'SETSLOT', slot, 'NODE', toId ?? '']);
      },
    };
  }

  test.each([0, 1])('continues while a slot is moved, waiting for %i replicas', async (waitReplicas) => {
    const { sessions, callResults } = await connect({ url: cluster.url, waitReplicas });
    const userId = `mover-${waitReplicas}`;
    await sessions.createSession({ appName, userId, sessionId: 's' });
    let moved = false;
    const committing = keepCommitting(sessions, userId, () => moved);
    const ofSession = await move(keys().user(appName, userId));
    await ofSession.begin();
    await ofSession.end();
    await until(async () => (await idsOf(sessions, userId)).length > 20);
    moved = true;
    const committed = await committing;
    expect(await idsOf(sessions, userId)).toEqual(committed);
    // While the slot is being moved, a script on a single key is sent to the new node.
    const tool = `t${waitReplicas}`;
    const ofCall = await move(keys().call(tool, shortId('c')));
    await ofCall.begin();
    expect(await callResults.put(tool, 'c', { response: 1 }, 60_000)).toEqual({ response: 1 });
    expect(await callResults.put(tool, 'c', { response: 2 }, 60_000)).toEqual({ response: 1 });
    expect(await callResults.get(tool, 'c')).toEqual({ response: 1 });
    await ofCall.end();
    expect(await callResults.get(tool, 'c')).toEqual({ response: 1 });
  });

  test('fails in time when replicas are missing, and commits once when they are back', async () => {
    const options = { url: cluster.url, waitReplicas: 1, timeoutMs: 600 };
    const { sessions } = await connect(options);
    const ref = { appName, userId: 'waiter', sessionId: 's' };
    const session = await sessions.createSession(ref);
    const primary = await cluster.primaryOf(keys().session(ref));
    const replica = await replicaOf(cluster, primary);
    await replica.kill();
    const append = () => sessions.appendEvent({ session, event: eventOf('e') });
    const started = performance.now();
    await expect(append()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('1 of its replicas did not have it in time'),
    });
    expect(performance.now() - started).toBeLessThan(1_000);
    await replica.start();
    await cluster.settled();
    await until(() => append().then(() => true));
    expect(session.seq).toBe(1);
    expect(await idsOf(sessions, 'waiter')).toEqual(['e']);
  });

  test('tells clients nothing that a failover may take back', async () => {
    const ref = { appName, userId: 'reader', sessionId: 's' };
    const hasty = await connect({ url: cluster.url });
    const safe = await connect({ url: cluster.url, waitReplicas: 1, timeoutMs: 600 });
    const session = await hasty.sessions.createSession(ref);
    const replica = await replicaOf(cluster, await cluster.primaryOf(keys().session(ref)));
    const reads = {
      events: () => safe.sessions.log.readEvents(ref),
      session: () => safe.sessions.getSession(ref),
      record: () => safe.sessions.invocations.get({ ...ref, invocationId: 'inv-1' }),
      pending: () => safe.sessions.pending.list(ref),
      list: () => safe.sessions.listSessions(ref),
    };
    const frozen = pauseProcess(replica.pid);
    try {
      // The primary has the event, and loses it when it dies now.
      await hasty.sessions.appendEvent({ session, event: eventOf('e') });
      for (const [what, read] of Object.entries(reads))
        await expect(read(), what).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      frozen.resume();
    }
    expect(await until(() => reads.events().catch(() => false))).toHaveLength(1);
  });

  test('is unavailable in time while a part of it is gone, and works again afterwards', async () => {
    const { sessions, ping } = await connect({ url: cluster.url, timeoutMs: 500 });
    const ref = { appName, userId: 'patient', sessionId: 's' };
    const session = await sessions.createSession(ref);
    const primary = await cluster.primaryOf(keys().session(ref));
    const replica = await replicaOf(cluster, primary);
    await Promise.all([primary.kill(), replica.kill()]);
    const append = () => sessions.appendEvent({ session, event: eventOf('e') });
    for (let n = 0; n < 6; n += 1) {
      const started = performance.now();
      await expect(append()).rejects.toMatchObject({ name: 'MeshError', code: 'unavailable' });
      expect(performance.now() - started).toBeLessThan(1_000);
    }
    await ping();
    await Promise.all([primary.start(), replica.start()]);
    await cluster.settled();
    await until(() => append().then(() => true));
    expect(await idsOf(sessions, 'patient')).toEqual(['e']);
  });

  test('continues with the replica of a frozen primary, within one call', async () => {
    const { sessions } = await connect({ url: cluster.url, timeoutMs: 10_000 });
    const ref = { appName, userId: 'sleeper', sessionId: 's' };
    const session = await sessions.createSession(ref);
    const primary = await cluster.primaryOf(keys().session(ref));
    await until(async () => (await primary.command(['WAIT', 1, 100])) === 1);
    using frozen = pauseProcess(primary.pid);
    await sessions.appendEvent({ session, event: eventOf('e') });
    expect(session.seq).toBe(1);
    frozen.resume();
    await cluster.settled();
    await until(async () => ((await primary.command(['ROLE'])) as string[])[0] === 'slave');
    await sessions.appendEvent({ session, event: eventOf('f') });
    expect(await idsOf(sessions, 'sleeper')).toEqual(['e', 'f']);
  });

  test('is found through one living node, and refused when all are dead', async () => {
    const nobody = 'redis+cluster://127.0.0.1:1';
    await expect(connectRedisStore({ url: nobody })).rejects.toMatchObject({ code: 'unavailable' });
    const { ping } = await connect({ url: `${nobody},127.0.0.1:${cluster.nodes[4]?.port}` });
    await ping();
    const wrong = cluster.url.replace('//', '//nobody:secret@');
    const refused = await connectRedisStore({ url: wrong }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'unauthenticated' });
    expect(String(refused)).not.toContain('secret');
  });
});

describe('Sentinels', () => {
  let sentinel: RedisSentinel;
  beforeAll(async () => {
    sentinel = await startRedisSentinel();
  });
  afterAll(() => sentinel[Symbol.asyncDispose]());

  test('switch to another primary during commits, which are neither lost nor doubled', async () => {
    const { sessions } = await connect({ url: sentinel.url, waitReplicas: 1 });
    const ref = { appName, userId: 'ann', sessionId: 's' };
    await sessions.createSession(ref);
    const before = await sentinel.primary();
    let over = false;
    const committing = keepCommitting(sessions, 'ann', () => over);
    await until(async () => (await idsOf(sessions, 'ann')).length > 10);
    await sentinel.sentinels[0]?.command(['SENTINEL', 'FAILOVER', 'mymaster']);
    const after = await until(async () => {
      const named = await sentinel.primary();
      return named.port !== before.port && named;
    });
    // The old primary is alive and takes writes until it becomes a replica, ten seconds later: no client may
    // stay there.
    const isOnNew = async () => String(await after.command(['CLIENT', 'LIST'])).includes('name=agentmesh ');
    await until(isOnNew, { what: 'the store to be at the new primary', timeoutMs: 4_000 });
    expect(((await before.command(['ROLE'])) as string[])[0]).toBe('master');
    await before.command(['REPLICAOF', after.host, after.port]);
    const count = (await idsOf(sessions, 'ann')).length;
    await until(async () => (await idsOf(sessions, 'ann')).length > count + 10);
    over = true;
    const committed = await committing;
    expect(await idsOf(sessions, 'ann')).toEqual(committed);
    const state = (await sessions.getSession(ref))?.state;
    expect(Object.keys(state ?? {})).toHaveLength(3 * committed.length);
  });

  test('are asked in turn, and their errors are reported', async () => {
    const { ping } = await connect({ url: sentinel.url.replace('//', '//127.0.0.1:1,') });
    await ping();
    await expect(connectRedisStore({ url: 'redis+sentinel://127.0.0.1:1/mymaster' })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('failed to connect to sentinel 127.0.0.1:1'),
    });
    for (const each of sentinel.sentinels) {
      await each.command(['ACL', 'SETUSER', 'watcher', 'on', '>s=1', '&*', '+@all']);
    }
    const watched = await connect({ url: `${sentinel.url}?sentinel-user=watcher&sentinel-password=s%3D1` });
    await watched.ping();
    await expect(
      connectRedisStore({ url: `${sentinel.url}?sentinel-user=watcher&sentinel-password=other` }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/unauthenticated|unavailable/) });
    const misnamed = sentinel.url.replace('mymaster', 'other');
    await expect(connectRedisStore({ url: misnamed })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no sentinel knows the primary'),
    });
    const wrong = sentinel.url.replace('//', '//nobody:secret@');
    await expect(connectRedisStore({ url: wrong })).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('a write whose connection breaks before its replicas have it is repeated, as another server may answer next', async () => {
    const primary = await sentinel.primary();
    const connection = await connectRedis({ url: primary.url, waitReplicas: 1 });
    onTestFinished(() => connection[Symbol.asyncDispose]());
    let attempts = 0;
    await connection.write('am:k', async (redis) => {
      attempts += 1;
      const result = await redis.set('am:k', attempts);
      if (attempts === 1) {
        const again = new Promise((resolve) => redis.once('ready', resolve));
        await primary.command(['CLIENT', 'KILL', 'TYPE', 'normal']);
        await again;
      }
      return result;
    });
    expect(attempts).toBe(2);
  });
});

async function otherPrimary(cluster: RedisCluster, one: RedisNode): Promise<RedisNode> {
  for (const node of cluster.nodes) {
    const [role] = (await node.command(['ROLE'])) as string[];
    if (role === 'master' && node.port !== one.port) return node;
  }
  throw new MeshError('not_found', 'the cluster has one primary alone');
}

async function replicaOf(cluster: RedisCluster, primary: RedisNode): Promise<RedisNode> {
  for (const node of cluster.nodes) {
    const [role, , port] = (await node.command(['ROLE'])) as [string, string, number];
    if (role === 'slave' && port === primary.port) return node;
  }
  throw new MeshError('not_found', 'the primary has no replica');
}

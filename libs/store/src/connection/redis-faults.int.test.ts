import { createServer } from 'node:net';
import type { Event } from '@agentmesh/protocol';
import { type Server, startRedis, until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connectRedisStore, type RedisStoreOptions } from '../redis-store.ts';

const ref = { appName: 'shop', userId: 'ann', sessionId: 's' };

function eventOf(id: string, stateDelta: Record<string, unknown> = {}): Event {
  const actions = { stateDelta, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} };
  return { id, invocationId: 'inv-1', author: 'helper', timestamp: Date.now(), actions };
}

// With `everysec`, Redis delays its writes during a sync, and a SIGKILL then loses acknowledged writes.
const durable = { appendOnly: true, extraArgs: ['--appendfsync', 'always'] };

async function connect(options: RedisStoreOptions) {
  const store = await connectRedisStore(options);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

/** Connects a second client for as long as the block runs. */
function administrate({ url }: Server) {
  const redis = new Redis(url);
  return { redis, [Symbol.dispose]: () => redis.disconnect() };
}

/** Returns the duration of some work, ms. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

describe('a Redis that fails', () => {
  let server: Server;
  beforeEach(async () => {
    server = await startRedis(durable);
  });
  afterEach(() => server.stop());

  test('neither loses nor doubles one of 200 events when it is killed and restarted', async () => {
    const { sessions } = await connect({ url: server.url });
    await sessions.createSession(ref);
    let committed = 0;
    const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
    const writer = async (name: string) => {
      const session = (await sessions.getSession(ref)) ?? expect.fail();
      for (let n = 0; n < 50; n += 1) {
        await sessions.appendEvent({
          session,
          event: eventOf(`${name}-${n}`, { [name]: n, [`app:${name}`]: n }),
        });
        committed += 1;
        if (committed === 60) kill(server.kill());
      }
      return session;
    };
    const writers = Promise.all(['a', 'b', 'c', 'd'].map(writer));
    await killed;
    expect(committed).toBeLessThan(200);
    await using _again = await startRedis({ ...durable, dataDir: server.dataDir, port: server.port });
    const objects = await writers;
    const log = await sessions.log.readEvents(ref);
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
    for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) {
      const theirs = log.map(({ event }) => event.id).filter((id) => id.startsWith(name));
      expect(theirs).toEqual(Array.from({ length: 50 }, (_, n) => `${name}-${n}`));
      expect(objects[at]?.events).toEqual(log.slice(0, objects[at]?.seq).map(({ event }) => event));
    }
    const last = Object.fromEntries(
      ['a', 'b', 'c', 'd'].flatMap((name) => [
        [name, 49],
        [`app:${name}`, 49],
      ]),
    );
    expect(await sessions.getSession(ref)).toMatchObject({ seq: 200, state: last });
  });

  test('is unavailable in time while it is down, and works again afterwards', async () => {
    const errors: Error[] = [];
    const { sessions, ping } = await connect({
      url: server.url,
      timeoutMs: 300,
      onError: (error) => errors.push(error),
    });
    const session = await sessions.createSession(ref);
    await server.kill();
    const unavailable = {
      name: 'MeshError',
      code: 'unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    };
    const took = await timed(async () => {
      await expect(sessions.appendEvent({ session, event: eventOf('e') })).rejects.toMatchObject(unavailable);
    });
    expect(took).toBeLessThan(1_000);
    await expect(ping()).rejects.toMatchObject({ code: 'unavailable' });
    expect(errors.length).toBeGreaterThan(0);
    await using _again = await startRedis({ ...durable, dataDir: server.dataDir, port: server.port });
    await until(() => ping().then(() => true));
    await sessions.appendEvent({ session, event: eventOf('e') });
    expect(session.seq).toBe(1);
  });

  test('is unavailable in time while it is frozen, and a repetition commits once', async () => {
    const { sessions } = await connect({ url: server.url, timeoutMs: 300 });
    const session = await sessions.createSession(ref);
    using admin = administrate(server);
    await admin.redis.client('PAUSE', 700, 'ALL');
    const append = () => sessions.appendEvent({ session, event: eventOf('e') });
    const took = await timed(() => expect(append()).rejects.toMatchObject({ code: 'unavailable' }));
    expect(took).toBeLessThan(650);
    // Commands that were sent meanwhile still run when the server wakes up.
    await until(() => append().then(() => true));
    expect(await sessions.log.readEvents(ref)).toMatchObject([{ seq: 1, event: { id: 'e' } }]);
  });

  test('is unavailable when it is full, read-only or without replicas, with the reason', async () => {
    const { sessions } = await connect({ url: server.url, timeoutMs: 200 });
    const session = await sessions.createSession(ref);
    using admin = administrate(server);
    const append = () => sessions.appendEvent({ session, event: eventOf('e') });
    await admin.redis.config('SET', 'maxmemory', '1');
    await expect(append()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('maxmemory'),
    });
    await admin.redis.config('SET', 'maxmemory', '0');
    await admin.redis.config('SET', 'min-replicas-to-write', '1');
    await expect(append()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('too few replicas'),
    });
    await admin.redis.config('SET', 'min-replicas-to-write', '0');
    await admin.redis.replicaof('127.0.0.1', 1);
    await expect(append()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('replica'),
    });
    await admin.redis.replicaof('NO', 'ONE');
    await append();
    expect(session.seq).toBe(1);
  });

  test('is unavailable at once after the store is closed', async () => {
    const store = await connectRedisStore({ url: server.url });
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    const read = store.sessions.getSession(ref);
    await expect(read).rejects.toMatchObject({ code: 'unavailable', message: 'the store is closed' });
  });
});

describe('connecting', () => {
  test('fails at once when nothing answers', async () => {
    const { port, stop } = await startRedis();
    await stop();
    const took = await timed(() =>
      expect(connectRedisStore({ url: `redis://127.0.0.1:${port}` })).rejects.toMatchObject({
        code: 'unavailable',
      }),
    );
    expect(took).toBeLessThan(1_000);
  });

  test('fails in time when another kind of server answers', async () => {
    const silent = createServer((socket) => socket.on('data', () => socket.destroy())).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await until(() => silent.listening);
    const { port } = silent.address() as { port: number };
    await expect(connectRedisStore({ url: `redis://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  test('fails for a wrong or missing password, or user', async () => {
    await using server = await startRedis({ extraArgs: ['--requirepass', 'secret'] });
    const at = `127.0.0.1:${server.port}`;
    for (const url of [`redis://${at}`, `redis://:wrong@${at}`, `redis://nobody:secret@${at}`]) {
      const connecting = connectRedisStore({ url });
      await expect(connecting).rejects.toMatchObject({ name: 'MeshError', code: 'unauthenticated' });
    }
    await using store = await connectRedisStore({ url: `redis://:secret@${at}/3` });
    await store.ping();
  });

  test.each(['', 'localhost:6379', 'http://localhost:6379'])('refuses the url %j', async (url) => {
    await expect(connectRedisStore({ url })).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

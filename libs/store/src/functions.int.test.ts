import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Server, startRedis, startRedisCluster, startRedisSentinel, until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connectRedis } from './connection/redis-connection.ts';
import { allScripts, provisionRedis } from './functions.ts';
import { connectRedisStore } from './redis-store.ts';
import { script } from './scripts/script.ts';

let server: Server;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
  await admin.call('ACL', [
    ...['SETUSER', 'service', 'on', '>secret', '~am:*', '+@all', '-function', '-eval', '-evalsha'],
  ]);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const serviceUrl = () => server.url.replace('//', '//service:secret@');
const create = { appName: 'shop', userId: 'ann' };

async function connectService(timeoutMs?: number) {
  const options = { url: serviceUrl(), ...(timeoutMs !== undefined && { timeoutMs }) };
  const store = await connectRedisStore(options);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

test('a service that may load nothing says that the provisioning step must run', async () => {
  await admin.call('FUNCTION', ['FLUSH']);
  const advice = { code: 'unavailable', message: expect.stringContaining('run the provisioning step') };
  await expect(connectService()).rejects.toMatchObject(advice);
  await provisionRedis({ url: server.url });
  const store = await connectService();
  await store.sessions.createSession(create);
  // A restart without a saved state loses functions while services are connected.
  await admin.call('FUNCTION', ['FLUSH']);
  await expect(store.sessions.createSession(create)).rejects.toMatchObject(advice);
  await provisionRedis({ url: server.url });
  await store.sessions.createSession(create);
});

test('a program with all rights needs no provisioning, and finds lost functions again', async () => {
  await admin.call('FUNCTION', ['FLUSH']);
  await using store = await connectRedisStore({ url: server.url });
  await store.sessions.createSession(create);
  await admin.call('FUNCTION', ['FLUSH']);
  await store.sessions.createSession(create);
});

test('loading again changes nothing, and leaves the functions of other releases', async () => {
  await using connection = await connectRedis({ url: server.url });
  const before = script("return { 'of another release', KEYS[1] }");
  await connection.load([before]);
  for (let time = 0; time < 2; time += 1) await provisionRedis({ url: server.url });
  const libraries = (await admin.call('FUNCTION', ['LIST'])) as unknown[];
  expect(libraries).toHaveLength(allScripts.length + 2);
  expect(await connection.script(before, ['am:k'], [])).toEqual(['of another release', 'am:k']);
});

test('sessions can be read and deleted when Redis is full', async () => {
  await using store = await connectRedisStore({ url: server.url });
  const { id: sessionId } = await store.sessions.createSession(create);
  await admin.config('SET', 'maxmemory', '1');
  onTestFinished(async () => void (await admin.config('SET', 'maxmemory', '0')));
  const full = { code: 'unavailable', message: expect.stringContaining('full') };
  await expect(store.sessions.createSession(create)).rejects.toMatchObject(full);
  expect(await store.sessions.getSession({ ...create, sessionId })).toMatchObject({ id: sessionId });
  await store.sessions.deleteSession({ ...create, sessionId });
  expect(await store.sessions.getSession({ ...create, sessionId })).toBeUndefined();
});

const loaded = async (redis: Redis) => ((await redis.call('FUNCTION', ['LIST'])) as unknown[]).length;

test('functions outlive a restart', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-functions-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const { url, port, stop } = await startRedis({ appendOnly: true, dataDir });
  await provisionRedis({ url });
  await stop();
  await using again = await startRedis({ appendOnly: true, port, dataDir });
  const redis = new Redis(again.url);
  onTestFinished(() => redis.disconnect());
  expect(await loaded(redis)).toBe(allScripts.length + 1);
});

test('a promoted replica has the functions', async () => {
  await using sentinel = await startRedisSentinel();
  await provisionRedis({ url: sentinel.url });
  await sentinel.failOver();
  await using connection = await connectRedis({ url: sentinel.url });
  expect(await connection.run((redis) => redis.call('FUNCTION', ['LIST']))).toHaveLength(
    allScripts.length + 1,
  );
});

test('each server of a cluster has the functions', async () => {
  await using cluster = await startRedisCluster();
  await provisionRedis({ url: cluster.url });
  for (const node of cluster.nodes)
    await until(
      async () => ((await node.command(['FUNCTION', 'LIST'])) as unknown[]).length === allScripts.length + 1,
      { what: `the functions on port ${node.port}` },
    );
});

import { randomUUID } from 'node:crypto';
import { keys } from '@agentmesh/protocol';
import { type Server, startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectRedisStore, type RedisStore } from './redis-store.ts';

const prefix = randomUUID();
let server: Server;
let store: RedisStore;
beforeAll(async () => {
  server = await startRedis();
  store = await connectRedisStore({ url: server.url, prefix });
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await server.stop();
});

const actions = {
  stateDelta: { a: 1 },
  artifactDelta: {},
  requestedAuthConfigs: {},
  requestedToolConfirmations: {},
};

test('keeps the first of many results, and tells all of them', async () => {
  expect(await store.callResults.get('book', 'c1')).toBeUndefined();
  const puts = Array.from({ length: 8 }, (_, n) =>
    store.callResults.put('book', 'c1', { response: { n }, actions }, 9_000),
  );
  const kept = await Promise.all(puts);
  expect(new Set(kept.map((result) => JSON.stringify(result))).size).toBe(1);
  expect(await store.callResults.get('book', 'c1')).toEqual(kept[0]);
  expect(kept[0]).toMatchObject({ actions });
});

test('tells tools and calls apart', async () => {
  await store.callResults.put('a', 'b:c', { response: 1 }, 9_000);
  expect(await store.callResults.get('a:b', 'c')).toBeUndefined();
  expect(await store.callResults.get('a', 'b')).toBeUndefined();
  expect(await store.callResults.get('a', 'b:c')).toEqual({ response: 1 });
});

test('lets a result expire, counted from the first', async () => {
  await store.callResults.put('t', 'c', { response: null }, 5_000);
  await store.callResults.put('t', 'c', { response: null }, 900_000);
  await using admin = {
    redis: new Redis(server.url),
    [Symbol.asyncDispose]: async () => admin.redis.disconnect(),
  };
  const left = await admin.redis.pttl(keys(prefix).call('t', 'c'));
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(5_000);
});

test('refuses what JSON cannot hold, and a time that is none', async () => {
  const refused = { code: 'invalid_argument' };
  await expect(store.callResults.put('t', 'x', { response: 1n }, 1_000)).rejects.toMatchObject(refused);
  for (const ttlMs of [0, -1, 0.5, Number.NaN]) {
    await expect(store.callResults.put('t', 'x', { response: 1 }, ttlMs)).rejects.toMatchObject(refused);
  }
  expect(await store.callResults.get('t', 'x')).toBeUndefined();
});

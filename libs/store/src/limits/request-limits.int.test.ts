import { setTimeout as delay } from 'node:timers/promises';
import { type Server, startRedis } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectRedisStore, type RedisStore } from '../redis-store.ts';

let server: Server;
let stores: RedisStore[];
beforeAll(async () => {
  server = await startRedis();
  stores = await Promise.all([1, 2].map(() => connectRedisStore({ url: server.url })));
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  await server.stop();
});

/** Returns the limits of one of two processes in turn. */
const limitsOf = (turn: number) => stores[turn % 2]?.requestLimits ?? expect.fail();

test('uses are counted over all processes, exactly', async () => {
  const limit = { most: 100, windowMs: 60_000 };
  const waits = await Promise.all(
    Array.from({ length: 300 }, (_, turn) => limitsOf(turn).use('requests', 'ann', limit)),
  );
  expect(waits.filter((ms) => ms === 0)).toHaveLength(100);
  expect(Math.min(...waits.filter((ms) => ms > 0))).toBeGreaterThan(0);
  expect(await limitsOf(0).use('requests', 'eve', limit)).toBe(0);
  expect(await limitsOf(0).use('runs', 'ann', limit)).toBe(0);
});

test('no window of time has more uses than the limit, and the wait that is told is long enough', async () => {
  const limit = { most: 20, windowMs: 1_000 };
  const times: number[] = [];
  for (const end = performance.now() + 3_500; performance.now() < end; ) {
    const ms = await limitsOf(times.length).use('requests', 'max', limit);
    if (ms === 0) times.push(performance.now());
    else {
      await delay(ms + 2);
      expect(await limitsOf(0).use('requests', 'max', limit)).toBe(0);
      times.push(performance.now());
    }
  }
  const inWindow = times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length);
  // The window before counts as spread evenly.
  expect(Math.max(...inWindow)).toBeLessThanOrEqual(40);
  expect(times.length).toBeGreaterThanOrEqual(60);
  expect(times.length).toBeLessThanOrEqual(20 * 4.5);
});

test('slots are taken once over all processes, and free when they are given back or lapse', async () => {
  const limit = { most: 3, leaseMs: 500 };
  const taken = await Promise.all(
    Array.from({ length: 10 }, (_, turn) => limitsOf(turn).take('streams', 'ann', limit)),
  );
  const slots = taken.filter((slot) => slot !== undefined);
  expect(slots).toHaveLength(3);
  await slots[0]?.[Symbol.asyncDispose]();
  const again = await limitsOf(1).take('streams', 'ann', limit);
  expect(again).toBeDefined();
  expect(await limitsOf(1).take('streams', 'ann', limit)).toBeUndefined();
  await delay(300);
  await again?.renew();
  await delay(300);
  // The slots that nobody renewed have lapsed.
  const free = [
    await limitsOf(0).take('streams', 'ann', limit),
    await limitsOf(0).take('streams', 'ann', limit),
  ];
  expect(free.every((slot) => slot !== undefined)).toBe(true);
  expect(await limitsOf(0).take('streams', 'ann', limit)).toBeUndefined();
});

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

/** Returns the requests as one of two processes in turn knows them. */
const requestsOf = (turn: number) => stores[turn % 2]?.repeatedRequests ?? expect.fail();

/** Notes a value for each turn at once. Returns the value that each process has then. */
const noteMany = (name: string, word: string, replaced?: string) =>
  Promise.all(
    Array.from({ length: 50 }, async (_, turn) => {
      const own = `${word}${turn}`;
      return (await requestsOf(turn).note(name, own, replaced)) ?? own;
    }),
  );

test('one of many notes of a request counts, for all processes', async () => {
  expect(await requestsOf(0).find('a')).toBeUndefined();
  const values = new Set(await noteMany('a', 'first'));
  expect(values.size).toBe(1);
  expect([await requestsOf(1).find('a')]).toEqual([...values]);
  expect(await requestsOf(1).find('b')).toBeUndefined();
});

test('a note replaces only the note that its process has read, once', async () => {
  await requestsOf(0).note('c', 'refused');
  expect(await requestsOf(1).note('c', 'late', 'older')).toBe('refused');
  const [value = '', ...others] = new Set(await noteMany('c', 'new', 'refused'));
  expect([value, others]).toEqual([expect.stringMatching(/^new/), []]);
  expect(await requestsOf(1).find('c')).toBe(value);
  // The same note again: its answer may have been lost.
  expect(await requestsOf(0).note('c', value, 'refused')).toBeUndefined();
});

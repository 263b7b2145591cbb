import { createHash, randomUUID } from 'node:crypto';
import { keys, maxPayloadBytes } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RedisConnection } from '../connection/redis-connection.ts';
import type { RedisStore } from '../redis-store.ts';
import type { StoreHost } from '../store-host.fixture.ts';

/** Tests that `CallResults` must pass, on any Redis. */
export function callResultsConformance(host: StoreHost): void {
  const prefix = `am:${randomUUID()}`;
  let store: RedisStore;
  let admin: RedisConnection;
  beforeAll(async () => {
    store = await host.openStore({ prefix });
    admin = await host.openAdmin();
  });
  afterAll(async () => {
    await admin[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  const actions = {
    stateDelta: { a: 1 },
    artifactDelta: {},
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
  };

  test('keeps the first of many results, and returns it to all', async () => {
    expect(await store.callResults.get('book', 'c1')).toBeUndefined();
    const puts = Array.from({ length: 8 }, (_, n) =>
      store.callResults.put('book', 'c1', { response: { n }, actions }, 9_000),
    );
    const kept = await Promise.all(puts);
    expect(new Set(kept.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(await store.callResults.get('book', 'c1')).toEqual(kept[0]);
    expect(kept[0]).toMatchObject({ actions });
  });

  test('distinguishes tools and calls', async () => {
    await store.callResults.put('a', 'b:c', { response: 1 }, 9_000);
    expect(await store.callResults.get('a:b', 'c')).toBeUndefined();
    expect(await store.callResults.get('a', 'b')).toBeUndefined();
    expect(await store.callResults.get('a', 'b:c')).toEqual({ response: 1 });
  });

  test('forgets a call, and for some minutes ends one that is being worked on', async () => {
    const { callResults } = store;
    const gone = { response: 'gone' };
    const ttl = () => admin.run((client) => client.pttl(keys(prefix).call('f', 'c')));
    expect(await callResults.forget('f', 'c', gone)).toBe(false);
    expect(await ttl()).toBe(-2);
    await callResults.put('f', 'c', { response: 1 }, 9_000_000);
    expect(await callResults.forget('f', 'c')).toBe(true);
    expect(await ttl()).toBe(-2);
    await callResults.take('f', 'c', 'me', 9_000_000);
    expect(await callResults.forget('f', 'c', gone)).toBe(true);
    expect(await callResults.forget('f', 'c', gone)).toBe(false);
    expect(await callResults.put('f', 'c', { response: 'late' }, 9_000_000)).toEqual(gone);
    expect(await ttl()).toBeLessThanOrEqual(600_000);
  });

  test('lets a result expire, counted from the first', async () => {
    await store.callResults.put('t', 'c', { response: null }, 5_000);
    await store.callResults.put('t', 'c', { response: null }, 900_000);
    const left = await admin.run((client) => client.pttl(keys(prefix).call('t', 'c')));
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(5_000);
  });

  test('refuses values that JSON cannot hold, values that are too large, and invalid times', async () => {
    const refused = { code: 'invalid_argument' };
    const large = 'x'.repeat(maxPayloadBytes);
    for (const response of [1n, large])
      await expect(store.callResults.put('t', 'x', { response }, 1_000)).rejects.toMatchObject(refused);
    for (const ttlMs of [0, -1, 0.5, Number.NaN]) {
      await expect(store.callResults.put('t', 'x', { response: 1 }, ttlMs)).rejects.toMatchObject(refused);
      await expect(store.callResults.take('t', 'x', 'a', ttlMs)).rejects.toMatchObject(refused);
    }
    expect(await store.callResults.get('t', 'x')).toBeUndefined();
  });

  test('takes any call id up to 256 characters, and distinguishes them', async () => {
    const hash = createHash('sha256').update('a/b').digest('hex');
    const ids = [
      '',
      'a/b',
      hash,
      'x'.repeat(64),
      'x'.repeat(256),
      `${'x'.repeat(255)}y`,
      '\ud83e\udd8a'.repeat(128),
    ];
    for (const [n, id] of ids.entries()) await store.callResults.put('ids', id, { response: n }, 9_000);
    for (const [n, id] of ids.entries()) {
      expect(await store.callResults.get('ids', id)).toEqual({ response: n });
      expect(await store.callResults.take('ids', id, 'a', 9_000)).toEqual({
        state: 'done',
        result: { response: n },
      });
    }
    await expect(store.callResults.get('ids', '\ud800')).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  describe('the lease on a call', () => {
    const tool = 'book';
    const taken = { state: 'taken' };
    const busyWith = (holder: string, isLapsed = false) => ({ state: 'busy', holder, isLapsed });
    const done = (response: unknown) => ({ state: 'done', result: { response } });
    const left = (callId: string) => admin.run((client) => client.pttl(keys(prefix).call(tool, callId)));

    /** Makes a new call, with the operations on it. */
    function call() {
      const id = randomUUID();
      return {
        id,
        take: (holder: string, leaseMs = 60_000, gone?: string) =>
          store.callResults.take(tool, id, holder, leaseMs, gone),
        release: (holder: string) => store.callResults.release(tool, id, holder),
        put: (response: unknown, ttlMs = 60_000) => store.callResults.put(tool, id, { response }, ttlMs),
        get: () => store.callResults.get(tool, id),
      };
    }

    test('goes to one of 50 concurrent holders', async () => {
      await using other = await host.openStore({ prefix });
      const { id } = call();
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          (n % 2 ? store : other).callResults.take(tool, id, `holder ${n}`, 60_000),
        ),
      );
      const states = replies.map(({ state }) => state);
      expect(states.filter((state) => state === 'taken')).toHaveLength(1);
      expect(states.filter((state) => state === 'busy')).toHaveLength(49);
    });

    test('keeps others out after it has lapsed, until its holder is known to be gone', async () => {
      const { id, take, release } = call();
      expect(await take('a', 10)).toEqual(taken);
      await until(async () => ((await take('b')) as { isLapsed?: boolean }).isLapsed);
      expect(await take('b')).toEqual(busyWith('a', true));
      expect(await take('b', 60_000, 'other')).toEqual(busyWith('a', true));
      expect(await left(id)).toBeGreaterThan(80_000_000);
      expect(await take('b', 60_000, 'a')).toEqual(taken);
      expect(await take('a')).toEqual(busyWith('b'));
      await release('a');
      expect(await take('a')).toEqual(busyWith('b'));
    });

    test('is not taken over while it is renewed, even from a holder that is said to be gone', async () => {
      const { take } = call();
      await take('a');
      expect(await take('b', 60_000, 'a')).toEqual(busyWith('a'));
    });

    test('goes to one of many who know that its holder is gone', async () => {
      const { take } = call();
      await take('a', 1);
      await until(async () => ((await take('b')) as { isLapsed?: boolean }).isLapsed);
      const holders = Array.from({ length: 8 }, (_, n) => `heir ${n}`);
      const replies = await Promise.all(holders.map((holder) => take(holder, 60_000, 'a')));
      expect(replies.filter(({ state }) => state === 'taken')).toHaveLength(1);
    });

    test('is renewed only by its holder', async () => {
      const { take } = call();
      await take('a', 10);
      await until(async () => ((await take('b')) as { isLapsed?: boolean }).isLapsed);
      expect(await take('a', 60_000)).toEqual(taken);
      expect(await take('b')).toEqual(busyWith('a'));
    });

    test('is no result', async () => {
      const { take, get } = call();
      await take('a');
      expect(await get()).toBeUndefined();
    });

    test('ends with a result, also for its holder', async () => {
      const { take, put, get, release } = call();
      await take('a');
      await put(1);
      expect(await take('a')).toEqual(done(1));
      expect(await take('b')).toEqual(done(1));
      await release('a');
      expect(await get()).toEqual({ response: 1 });
    });

    test('does not end the result at the time of its own end', async () => {
      const { id, take, put } = call();
      await take('a', 5_000);
      await put(1, 60_000);
      expect(await left(id)).toBeGreaterThan(5_000);
      await take('b', 5_000);
      expect(await left(id)).toBeGreaterThan(5_000);
      expect(await admin.run((client) => client.hkeys(keys(prefix).call(tool, id)))).toEqual(['result']);
    });

    test('is released only by its holder', async () => {
      const { id, take, release } = call();
      await take('a');
      await release('b');
      expect(await take('b')).toEqual(busyWith('a'));
      await release('a');
      expect(await admin.run((client) => client.exists(keys(prefix).call(tool, id)))).toBe(0);
      await release('a');
      expect(await take('b')).toEqual(taken);
    });

    test('does not decide about results: the first one stays although its lease had expired', async () => {
      const { id, take, put } = call();
      await take('late');
      await admin.run((client) => client.del(keys(prefix).call(tool, id)));
      expect(await take('next')).toEqual(taken);
      expect(await put('from late')).toEqual({ response: 'from late' });
      expect(await take('next')).toEqual(done('from late'));
      expect(await put('from next')).toEqual({ response: 'from late' });
    });

    test('is the same in a repetition after a lost reply', async () => {
      const { take, release } = call();
      expect([await take('a'), await take('a')]).toEqual([taken, taken]);
      await Promise.all([release('a'), release('a')]);
      expect(await take('b')).toEqual(taken);
    });
  });
}

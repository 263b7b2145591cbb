import { newApiKey } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { byKeys } from './by-keys.ts';

const request = (authorization?: string) => ({ headers: { authorization } }) as unknown as FastifyRequest;

/** Makes a reader of one key, with a clock that the test moves. */
function reader(expiresAt?: number) {
  const key = newApiKey();
  const looked: string[] = [];
  const used: number[] = [];
  const clock = { now: 1_000 };
  const way = byKeys({
    now: () => clock.now,
    log: { warn() {} },
    keys: {
      async find(text) {
        looked.push(text);
        if (text !== key) return undefined;
        const record = { name: 'shop', roles: ['user'], user: 'ann', createdAt: 1 };
        return { ...record, ...(expiresAt !== undefined && { expiresAt }) };
      },
      noteUse: async () => void used.push(clock.now),
    },
  });
  return { key, looked, used, clock, read: (text?: string) => way.authenticate(request(text)) };
}

it('a key names its user, its roles and itself', async () => {
  const { key, read } = reader();
  const caller = { via: 'keys', key: 'shop', user: 'ann', roles: ['user'] };
  expect(await read(`Bearer ${key}`)).toEqual(caller);
  expect(await read(`bearer  ${key}`)).toEqual(caller);
});

it('a mistyped key is refused without a look into Redis, and an unknown key after it', async () => {
  const { key, looked, read } = reader();
  await expect(read(`Bearer ${key}x`)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(looked).toEqual([]);
  await expect(read(`Bearer ${newApiKey()}`)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(looked).toHaveLength(1);
});

it('other credentials are left to other ways', async () => {
  const { key, read } = reader();
  for (const text of [undefined, '', key, `Basic ${key}`, 'Bearer eyJh.b.c'])
    expect(await read(text)).toBeUndefined();
});

it('a key ends at its time', async () => {
  const { key, clock, read } = reader(2_000);
  expect(await read(`Bearer ${key}`)).toMatchObject({ key: 'shop' });
  clock.now = 2_000;
  await expect(read(`Bearer ${key}`)).rejects.toMatchObject({
    code: 'unauthenticated',
    message: expect.stringContaining('shop has expired'),
  });
});

it('the use of a key is noted once a minute', async () => {
  const { key, used, clock, read } = reader();
  for (const now of [1_000, 2_000, 60_999, 61_000, 62_000]) {
    clock.now = now;
    await read(`Bearer ${key}`);
  }
  expect(used).toEqual([1_000, 61_000]);
});

import { startRedis } from '@agentmesh/testing/servers';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Ledger } from './ledger.ts';

const failed = (error: Error) => {
  throw error;
};

it('pays once for a key, also when it is repeated at the same time', async () => {
  await using server = await startRedis();
  await using first = await new Ledger().open({ url: server.url, onError: failed });
  await using second = await new Ledger().open({ url: server.url, onError: failed });
  const [one, other] = await Promise.all([
    first.pay('call-1', { amount: 50, purpose: 'meals' }),
    second.pay('call-1', { amount: 60, purpose: 'meals' }),
  ]);
  expect(other).toEqual(one);
  await first.pay('call-2', { amount: 70, purpose: 'meals' });
  const redis = new Redis(server.url);
  expect(Object.keys(await redis.hgetall('am:own:tool_reimburse:payments'))).toEqual(['call-1', 'call-2']);
  redis.disconnect();
});

it('fails at once when Redis is not there', async () => {
  const reported: Error[] = [];
  const opened = new Ledger().open({ url: 'redis://127.0.0.1:1', onError: (error) => reported.push(error) });
  await expect(opened).rejects.toThrow();
  expect(reported).not.toEqual([]);
});

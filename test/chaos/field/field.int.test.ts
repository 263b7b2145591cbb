import { casesOfTier } from '@agentmesh/testing/tiers';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { startField } from '../field.ts';
import type { AccountForm } from './logins.ts';
import type { RedisKind } from './servers.ts';

const services = ['agent_back_agent', 'agent_front_agent', 'gateway', 'tool_add_remote'];

const kinds: [AccountForm, RedisKind][] = [
  ['jwt', 'single'],
  ['file', 'sentinel'],
  ['none', 'cluster'],
];

it.each(casesOfTier(kinds))(
  'each process logs in to Redis as its own user, with accounts %s and Redis %s',
  async (accounts, kind) => {
    await using field = await startField({
      ...{ accounts, redisKind: kind, parts: ['front_agent', 'back_agent', 'add_remote'] },
      ...{ replicas: 1, gateways: 1, ackWaitMs: 1_000, model: () => ({ text: 'done' }) },
    });
    const names = await Promise.all(field.redis.nodes.map(usersOn));
    expect([...new Set(names.flat())].filter((name) => services.includes(name)).sort()).toEqual(services);
    // The test itself is the only client with all rights.
    for (const [at, each] of names.entries())
      expect(each.filter((name) => name === 'default').length, `server ${at + 1}`).toBeLessThanOrEqual(1);
  },
);

/** Returns the users of the clients of a server. Replicas and Sentinels are left out. */
async function usersOn({ host, port }: { host: string; port: number }): Promise<string[]> {
  const redis = new Redis(port, host);
  try {
    const list = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'NORMAL'));
    const lines = list.split('\n').filter((line) => line !== '' && !/ name=sentinel/.test(line));
    return lines.map((line) => / user=(\S+)/.exec(line)?.[1] ?? '');
  } finally {
    redis.disconnect();
  }
}

import { type Server, startRedis, until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe } from 'vitest';
import { redisMemoryConformance } from './redis-memory.fixture.ts';

let server: Server;
let cluster: Server;
beforeAll(async () => {
  [server, cluster] = await Promise.all([
    startRedis(),
    startRedis({ extraArgs: ['--cluster-enabled', 'yes'] }),
  ]);
});
afterAll(async () => {
  await Promise.all([server.stop(), cluster.stop()]);
});

redisMemoryConformance('RedisMemoryService', () => server.url);

describe('on a server that, as a cluster does, refuses a script on keys of two slots', () => {
  beforeAll(async () => {
    const client = new Redis(cluster.url);
    await client.call('CLUSTER', ['ADDSLOTSRANGE', 0, 16_383]);
    await until(async () => String(await client.call('CLUSTER', ['INFO'])).includes('cluster_state:ok'));
    client.disconnect();
  });
  redisMemoryConformance('RedisMemoryService', () => cluster.url);
});

import { randomUUID } from 'node:crypto';
import { memoryServiceConformance } from '@agentmesh/agent/conformance';
import { type Server, startRedis, until } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe } from 'vitest';
import { connectRedisStore } from './redis-store.ts';

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

const makeOn = (url: () => string) => async () => {
  const store = await connectRedisStore({ url: url(), prefix: randomUUID() });
  return { service: store.memory, dispose: async () => await store[Symbol.asyncDispose]() };
};

memoryServiceConformance(
  'RedisMemoryService',
  makeOn(() => server.url),
);

describe('on a server that, as a cluster does, refuses a script on keys of two slots', () => {
  beforeAll(async () => {
    const client = new Redis(cluster.url);
    await client.call('CLUSTER', ['ADDSLOTSRANGE', 0, 16_383]);
    await until(async () => String(await client.call('CLUSTER', ['INFO'])).includes('cluster_state:ok'));
    client.disconnect();
  });
  memoryServiceConformance(
    'RedisMemoryService',
    makeOn(() => cluster.url),
  );
});

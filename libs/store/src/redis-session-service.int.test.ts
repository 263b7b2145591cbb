import { randomUUID } from 'node:crypto';
import { sessionServiceConformance } from '@agentmesh/agent/conformance';
import { type Server, startRedis } from '@agentmesh/testing';
import { afterAll, beforeAll } from 'vitest';
import { connectRedisStore } from './redis-store.ts';

let server: Server;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

sessionServiceConformance('RedisSessionService', async () => {
  const store = await connectRedisStore({ url: server.url, prefix: randomUUID() });
  return { service: store.sessions, dispose: () => store[Symbol.asyncDispose]() };
});

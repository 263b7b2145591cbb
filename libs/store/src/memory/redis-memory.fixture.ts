import { randomUUID } from 'node:crypto';
import { memoryServiceConformance } from '@agentmesh/agent/conformance';
import { connectRedisStore } from '../redis-store.ts';

/** Runs the suite of memory services on the Redis of this url: one server, or several that act as one. */
export function redisMemoryConformance(name: string, url: () => string): void {
  memoryServiceConformance(name, async () => {
    const store = await connectRedisStore({ url: url(), prefix: randomUUID() });
    return { service: store.memory, dispose: async () => await store[Symbol.asyncDispose]() };
  });
}

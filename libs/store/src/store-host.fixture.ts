import { connectRedis, type RedisConnection } from './connection/redis-connection.ts';
import type { RunningRedis } from './connection/redis-kinds.fixture.ts';
import { connectRedisStore, type RedisStore } from './redis-store.ts';

/** A Redis of any kind, for suites that open stores on it. */
export interface StoreHost {
  /** Opens a store, as the mesh does. */
  openStore(options: { prefix: string }): Promise<RedisStore>;
  /** Opens a connection with all rights, for a look at the keys. */
  openAdmin(): Promise<RedisConnection>;
}

export function storeHost(redis: () => RunningRedis): StoreHost {
  return {
    openStore: ({ prefix }) => connectRedisStore({ ...redis().options, prefix }),
    openAdmin: () => connectRedis(redis().admin),
  };
}

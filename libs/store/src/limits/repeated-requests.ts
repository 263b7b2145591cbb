import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';

/** The requests that clients may send again, by the key that the client chose for each. */
export interface RepeatedRequests {
  /** Returns what was noted for a request; undefined for a new request. */
  find(name: string): Promise<string | undefined>;
  /** Notes a value for a new request. Returns the value of another process that was faster. */
  note(name: string, value: string): Promise<string | undefined>;
}

/** Time for which a request is known, in ms: as long as the record of a running invocation. */
const ttlMs = 86_400_000;

export function repeatedRequests(connection: RedisConnection, keys: Keys): RepeatedRequests {
  return {
    async find(name) {
      const key = keys.repeatedRequest(name);
      return (await connection.run((redis) => redis.get(key))) ?? undefined;
    },
    async note(name, value) {
      const key = keys.repeatedRequest(name);
      const isNew = await connection.write(key, (redis) => redis.set(key, value, 'PX', ttlMs, 'NX'));
      if (isNew === 'OK') return undefined;
      const known = await connection.run((redis) => redis.get(key));
      // Redis may have done the write whose answer was lost.
      return known === null || known === value ? undefined : known;
    },
  };
}

import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { noteRequestScript } from './limit-scripts.ts';

/** The requests that clients may send again, by the key that the client chose for each. */
export interface RepeatedRequests {
  /** Returns what was noted for a request; undefined for a new request. */
  find(name: string): Promise<string | undefined>;
  /**
   * Notes a value for a new request, or in the place of `replaced`, a value that {@link find} has returned. Returns the
   * value of another process that was faster.
   */
  note(name: string, value: string, replaced?: string): Promise<string | undefined>;
}

/** Time for which a request is known, in ms: as long as the record of a running invocation. */
const ttlMs = 86_400_000;

export function repeatedRequests(connection: RedisConnection, keys: Keys): RepeatedRequests {
  return {
    async find(name) {
      const key = keys.repeatedRequest(name);
      return (await connection.run((redis) => redis.get(key))) ?? undefined;
    },
    async note(name, value, replaced = '') {
      const note = keys.repeatedRequest(name);
      const known = await connection.script<string>(
        ...noteRequestScript.call({ note, value, replaced, ttlMs }),
      );
      // Redis may have done the write whose answer was lost.
      return known === value ? undefined : known;
    },
  };
}

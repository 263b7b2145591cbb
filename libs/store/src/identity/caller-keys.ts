import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';

/** The public keys by which services check the identities of callers. Only gateways may write them. */
export interface CallerKeys {
  put(keyId: string, publicKey: string): Promise<void>;
  get(keyId: string): Promise<string | undefined>;
}

/** Time for which a key is kept after its last use by its gateway, in ms: longer than any job waits. */
const ttlMs = 90 * 86_400_000;

export function callerKeys(connection: RedisConnection, keys: Keys): CallerKeys {
  return {
    async put(keyId, publicKey) {
      const key = keys.callerKey(keyId);
      await connection.write(key, (redis) => redis.set(key, publicKey, 'PX', ttlMs));
    },
    async get(keyId) {
      return (await connection.run((redis) => redis.get(keys.callerKey(keyId)))) ?? undefined;
    },
  };
}

import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';

/**
 * The public keys by which services check the identities of callers and the sources of answers. Only gateways may
 * write them. The keys of an app are those of its agents, which sign the sources of answers that they have accepted:
 * only agents of the app and gateways may write these.
 */
export interface CallerKeys {
  /** @param app the app whose agent has the key; default: a gateway has the key */
  put(keyId: string, publicKey: string, app?: string): Promise<void>;
  /** @param app as in {@link put} */
  get(keyId: string, app?: string): Promise<string | undefined>;
}

/** Time for which a key is kept after its last use by its signer, in ms: longer than any job waits. */
const ttlMs = 90 * 86_400_000;

export function callerKeys(connection: RedisConnection, keys: Keys): CallerKeys {
  const keyOf = (keyId: string, app: string | undefined) =>
    app === undefined ? keys.callerKey(keyId) : keys.answerKey(app, keyId);
  return {
    async put(keyId, publicKey, app) {
      const key = keyOf(keyId, app);
      await connection.write(key, (redis) => redis.set(key, publicKey, 'PX', ttlMs));
    },
    async get(keyId, app) {
      return (await connection.run((redis) => redis.get(keyOf(keyId, app)))) ?? undefined;
    },
  };
}

import { apiKeyHash, type Keys, MeshError, meshTime, newApiKey } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';

/** An API key of the gateway, without the key itself. */
export interface ApiKey {
  /** The name by which people know the key; unique. */
  name: string;
  /** The roles of its callers: `operator` for all apps, `shop:operator` for one app. */
  roles: string[];
  /** The only user for whom its callers act; absent for a key of a service. */
  user?: string | undefined;
  /** Epoch ms. */
  createdAt: number;
  /** Epoch ms; absent for a key without an end. */
  expiresAt?: number | undefined;
  /** The time of a use that is at most a minute older than the last, in epoch ms; absent before the first use. */
  usedAt?: number | undefined;
}

export type NewApiKey = Pick<ApiKey, 'name' | 'roles' | 'user' | 'expiresAt'>;

/** The API keys of the gateways. Redis has their hashes, so that nobody can read a key there. */
export interface ApiKeys {
  /**
   * Makes a key. The result is the only copy of it.
   *
   * @throws MeshError `already_exists` for a name that another key has
   */
  create(wanted: NewApiKey): Promise<string>;
  /** Returns all keys, expired ones too, by name. */
  list(): Promise<ApiKey[]>;
  /** Removes a key: from now on no gateway finds it. Returns whether there was one. */
  revoke(name: string): Promise<boolean>;
  /** Finds the record of a key, which may be expired. */
  find(key: string): Promise<ApiKey | undefined>;
  /** Notes that a key is used now. */
  noteUse(key: string): Promise<void>;
}

/** Returns the API keys in Redis. Each request reads its key anew, so a revoked key ends at once. */
export function apiKeys(connection: RedisConnection, keys: Keys): ApiKeys {
  const { records, names, uses } = keys.apiKeys;

  return {
    async create({ name, roles, user, expiresAt }) {
      const key = newApiKey();
      const hash = apiKeyHash(key);
      const record: ApiKey = {
        ...{ name, roles, createdAt: meshTime() },
        ...(user !== undefined && { user }),
        ...(expiresAt !== undefined && { expiresAt }),
      };
      // The name first: a crash between the writes leaves a name without a key, which `revoke` removes. A
      // repetition of the write after a lost reply finds its own hash.
      await connection.write(names, (redis) => redis.hsetnx(names, name, hash));
      if ((await connection.run((redis) => redis.hget(names, name))) !== hash)
        throw new MeshError('already_exists', `there is a key ${name}; revoke it, or choose another name`);
      await connection.write(records, (redis) => redis.hset(records, hash, JSON.stringify(record)));
      return key;
    },

    async list() {
      const [all, usedAt] = await Promise.all([
        connection.run((redis) => redis.hgetall(records)),
        connection.run((redis) => redis.hgetall(uses)),
      ]);
      return Object.entries(all)
        .map(([hash, json]): ApiKey => {
          const used = usedAt[hash];
          return { ...(JSON.parse(json) as ApiKey), ...(used !== undefined && { usedAt: Number(used) }) };
        })
        .sort((one, other) => (one.name < other.name ? -1 : 1));
    },

    async revoke(name) {
      const hash = await connection.run((redis) => redis.hget(names, name));
      if (hash === null) return false;
      await connection.write(records, (redis) => redis.hdel(records, hash));
      await connection.write(uses, (redis) => redis.hdel(uses, hash));
      await connection.write(names, (redis) => redis.hdel(names, name));
      return true;
    },

    async find(key) {
      const json = await connection.run((redis) => redis.hget(records, apiKeyHash(key)));
      return json === null ? undefined : (JSON.parse(json) as ApiKey);
    },

    async noteUse(key) {
      await connection.run((redis) => redis.hset(uses, apiKeyHash(key), meshTime()));
    },
  };
}

import type { UserOwner } from '@agentmesh/agent/internal';
import { type Keys, MeshError } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { replaceDataKeyScript } from './data-key-scripts.ts';

/** The owner of a data key: a user of an app, or the keepers together. */
export type DataKeyOwner = UserOwner | 'keepers';

/** The data keys of users as keepers store them: each encrypted with the master key. */
export interface DataKeys {
  /** The names of all keys in Redis, which are the places of secrets. */
  readonly keys: Keys;
  /** Returns the place of a data key, for which it is encrypted. */
  placeOf(owner: DataKeyOwner): string;
  find(owner: DataKeyOwner): Promise<string | undefined>;
  /** Stores a data key unless there is one, and returns the stored one. */
  add(owner: DataKeyOwner, wrapped: string): Promise<string>;
  /** Stores a data key in place of another form of it. Does nothing when the other form is gone. */
  replace(owner: DataKeyOwner, from: string, to: string): Promise<void>;
}

/** Returns the data keys in Redis. */
export function dataKeys(connection: RedisConnection, keys: Keys): DataKeys {
  const placeOf = (owner: DataKeyOwner) =>
    owner === 'keepers' ? keys.keeperKey : keys.dataKey(owner.appName, owner.userId);
  return {
    keys,
    placeOf,
    async find(owner) {
      const key = placeOf(owner);
      return (await connection.run((redis) => redis.get(key))) ?? undefined;
    },
    async add(owner, wrapped) {
      const key = placeOf(owner);
      await connection.write(key, (redis) => redis.setnx(key, wrapped));
      const stored = await connection.run((redis) => redis.get(key));
      if (stored !== null) return stored;
      throw new MeshError('unavailable', `the data key ${key} was deleted while it was made; try again`);
    },
    async replace(owner, from, to) {
      await connection.script(replaceDataKeyScript, [placeOf(owner)], [from, to]);
    },
  };
}

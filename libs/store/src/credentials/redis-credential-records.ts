import type { CredentialOwner, CredentialRecords, KeptCredential } from '@agentmesh/agent/internal';
import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';

/** Number of credentials that are deleted at a time. */
const pageSize = 100;

/**
 * Returns the descriptions of the users' credentials. The credentials stay sealed: no keys are needed here.
 */
export function credentialRecords(connection: RedisConnection, keys: Keys): CredentialRecords {
  const listKey = ({ appName, userId }: CredentialOwner) => keys.credentials(appName, userId);

  async function list(owner: CredentialOwner): Promise<[part: string, kept: KeptCredential][]> {
    const fields = await connection.run((redis) => redis.hgetall(listKey(owner)));
    return Object.entries(fields).map(([part, json]) => [part, JSON.parse(json)]);
  }

  return {
    async listCredentials(owner) {
      const all = await list(owner);
      const exists = await Promise.all(
        all.map(([, { credentialKey }]) => {
          const key = keys.credential(owner.appName, owner.userId, credentialKey);
          return connection.run((redis) => redis.exists(key));
        }),
      );
      return all.flatMap(([, kept], at) => (exists[at] === 1 ? [kept] : []));
    },

    async deleteCredentials(owner) {
      const { appName, userId } = owner;
      const all = await list(owner);
      let count = 0;
      for (let at = 0; at < all.length; at += pageSize) {
        const batch = all.slice(at, at + pageSize);
        const credentialKeys = batch.map(([, each]) => keys.credential(appName, userId, each.credentialKey));
        const turns = batch.map(([, each]) => keys.credentialTurn(appName, userId, each.credentialKey));
        const list = listKey(owner);
        // No script: a service that may delete credentials and not read them cannot pass their keys to one.
        count += await connection.run((redis) => redis.exists(...credentialKeys));
        await connection.write(list, (redis) => redis.unlink(...credentialKeys, ...turns));
        await connection.write(list, (redis) => redis.hdel(list, ...batch.map(([part]) => part)));
      }
      // Without it nobody can open what is sealed with it, wherever a copy of that may lie.
      const dataKey = keys.dataKey(appName, userId);
      await connection.write(dataKey, (redis) => redis.unlink(dataKey));
      return count;
    },
  };
}

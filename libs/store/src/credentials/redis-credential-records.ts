import type { CredentialOwner, CredentialRecords, KeptCredential } from '@agentmesh/agent/internal';
import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { deleteCredentialsScript } from './credential-scripts.ts';

/** Credentials deleted in one go. */
const pageSize = 100;

/** What the credentials of users are for. They stay sealed: no keys to open them are needed here. */
export function credentialRecords(connection: RedisConnection, keys: Keys): CredentialRecords {
  const listKey = ({ appName, userId }: CredentialOwner) => keys.credentials(appName, userId);

  async function list(owner: CredentialOwner): Promise<[part: string, kept: KeptCredential][]> {
    const fields = await connection.run((redis) => redis.hgetall(listKey(owner)));
    return Object.entries(fields).map(([part, json]) => [part, JSON.parse(json)]);
  }

  return {
    async listCredentials(owner) {
      const all = await list(owner);
      const there = await Promise.all(
        all.map(([, { credentialKey }]) => {
          const key = keys.credential(owner.appName, owner.userId, credentialKey);
          return connection.run((redis) => redis.exists(key));
        }),
      );
      return all.flatMap(([, kept], at) => (there[at] === 1 ? [kept] : []));
    },

    async deleteCredentials(owner) {
      const { appName, userId } = owner;
      const all = await list(owner);
      let count = 0;
      for (let at = 0; at < all.length; at += pageSize) {
        const some = all.slice(at, at + pageSize);
        const own = some.flatMap(([, { credentialKey }]) => [
          keys.credential(appName, userId, credentialKey),
          keys.credentialTurn(appName, userId, credentialKey),
        ]);
        const parts = some.map(([part]) => part);
        count += await connection.script<number>(deleteCredentialsScript, [listKey(owner), ...own], parts);
      }
      return count;
    },
  };
}

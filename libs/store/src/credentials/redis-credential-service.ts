import type { AuthConfig, AuthCredential, CredentialService } from '@agentmesh/agent';
import { aboutCredential, type CredentialOwner, credentialToSave, endOf } from '@agentmesh/agent/internal';
import {
  isLostSecret,
  isOutdatedSecret,
  type Keys,
  type SecretBox,
  type SecretUse,
  shortId,
  toJson,
} from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { saveCredentialScript } from './credential-scripts.ts';

export interface SealedStore {
  connection: RedisConnection;
  keys: Keys;
  box: SecretBox;
}

/** Credentials in Redis, each sealed for its own key. */
export class RedisCredentialService implements CredentialService {
  readonly #store: SealedStore;

  constructor(store: SealedStore) {
    this.#store = store;
  }

  async loadCredential(
    authConfig: AuthConfig,
    context: CredentialOwner,
  ): Promise<AuthCredential | undefined> {
    const { connection, box } = this.#store;
    const key = this.#keyOf(authConfig, context);
    const [list, part] = this.#listed(authConfig, context);
    const [sealed, isListed] = await Promise.all([
      connection.run((redis) => redis.get(key)),
      connection.run((redis) => redis.hexists(list, part)),
    ]);
    // The user signs in again, and the new credential takes the place of an outdated one.
    if (sealed === null || isOutdatedSecret(sealed)) return undefined;
    const text = await box.open(sealed, key, useOf(authConfig, context)).catch(noneWhenLost);
    if (text === undefined) return undefined;
    const credential: AuthCredential = JSON.parse(text);
    // The credential was kept before there was a list. Without an entry in the list a deletion would not find
    // it.
    if (isListed === 0) {
      const about = toJson(aboutCredential(authConfig, credential), 'the credential');
      await connection.write(list, (redis) => redis.hset(list, part, about));
    }
    return credential;
  }

  async saveCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<void> {
    const { connection, box } = this.#store;
    const credential = credentialToSave(authConfig);
    const key = this.#keyOf(authConfig, context);
    const sealed = await box.seal(toJson(credential, 'the credential'), key, useOf(authConfig, context));
    const end = endOf(credential);
    const [list, part] = this.#listed(authConfig, context);
    const about = toJson(aboutCredential(authConfig, credential), 'the credential');
    await connection.script(saveCredentialScript, [key, list], [sealed, part, about, end ?? '']);
  }

  /** Returns the place of the credential's description. */
  #listed({ credentialKey }: AuthConfig, { appName, userId }: CredentialOwner): [list: string, part: string] {
    return [this.#store.keys.credentials(appName, userId), shortId(credentialKey)];
  }

  #keyOf({ credentialKey }: AuthConfig, { appName, userId }: CredentialOwner): string {
    return this.#store.keys.credential(appName, userId, credentialKey);
  }
}

/** A secret whose data key is gone counts as none: the user signs in again. */
export function noneWhenLost(error: unknown): undefined {
  if (!isLostSecret(error)) throw error;
}

function useOf({ credentialKey }: AuthConfig, owner: CredentialOwner): SecretUse {
  const { appName, userId, homeSessionId = '' } = owner;
  return { kind: 'credential', app: appName, user: userId, session: homeSessionId, key: credentialKey };
}

import {
  type AuthConfig,
  type AuthCredential,
  type CredentialOwner,
  type CredentialService,
  credentialToSave,
  endOf,
} from '@agentmesh/agent';
import { type Keys, type SecretBox, toJson } from '@agentmesh/protocol';
import type { RedisConnection } from './redis-connection.ts';

export interface SealedStore {
  connection: RedisConnection;
  keys: Keys;
  box: SecretBox;
}

/** Credentials in Redis, sealed, each for its own place. */
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
    const sealed = await connection.run((redis) => redis.get(key));
    return sealed === null ? undefined : JSON.parse(box.open(sealed, key));
  }

  async saveCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<void> {
    const { connection, box } = this.#store;
    const credential = credentialToSave(authConfig);
    const key = this.#keyOf(authConfig, context);
    const sealed = box.seal(toJson(credential, 'the credential'), key);
    const end = endOf(credential);
    await connection.write(key, (redis) =>
      end === undefined ? redis.set(key, sealed) : redis.set(key, sealed, 'PXAT', end),
    );
  }

  #keyOf({ credentialKey }: AuthConfig, { appName, userId }: CredentialOwner): string {
    return this.#store.keys.credential(appName, userId, credentialKey);
  }
}

import { assertOptions } from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential } from './auth-config.ts';
import {
  aboutCredential,
  type CredentialOwner,
  type CredentialRecords,
  type CredentialService,
  type KeptCredential,
} from './credential-service.ts';
import { credentialToSave, endOf } from './validity.ts';

/** A credential service in the memory of this process. */
export class InMemoryCredentialService implements CredentialService, CredentialRecords {
  readonly #credentials = new Map<string, AuthCredential>();
  readonly #about = new Map<string, { owner: string; kept: KeptCredential }>();

  /** @throws MeshError `invalid_argument` for any option, as there are none */
  constructor(options: Record<string, never> = {}) {
    assertOptions(
      'an InMemoryCredentialService',
      options,
      {},
      { isOpen: new.target !== InMemoryCredentialService },
    );
  }

  async loadCredential(
    authConfig: AuthConfig,
    context: CredentialOwner,
  ): Promise<AuthCredential | undefined> {
    const key = keyOf(authConfig, context);
    const saved = this.#credentials.get(key);
    if (saved && (endOf(saved) ?? Number.POSITIVE_INFINITY) <= Date.now()) this.#credentials.delete(key);
    return structuredClone(this.#credentials.get(key));
  }

  async saveCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<void> {
    const key = keyOf(authConfig, context);
    const credential = structuredClone(credentialToSave(authConfig));
    this.#credentials.set(key, credential);
    this.#about.set(key, { owner: ownerOf(context), kept: aboutCredential(authConfig, credential) });
  }

  async listCredentials(owner: CredentialOwner): Promise<KeptCredential[]> {
    const ownEntries = [...this.#about.values()].filter((each) => each.owner === ownerOf(owner));
    const now = Date.now();
    return structuredClone(
      ownEntries.map(({ kept }) => kept).filter(({ endsAt }) => endsAt === undefined || endsAt > now),
    );
  }

  async deleteCredentials(owner: CredentialOwner): Promise<number> {
    let count = 0;
    for (const [key, each] of this.#about) {
      if (each.owner !== ownerOf(owner)) continue;
      this.#about.delete(key);
      if (this.#credentials.delete(key)) count += 1;
    }
    return count;
  }
}

const ownerOf = ({ appName, userId }: CredentialOwner) => JSON.stringify([appName, userId]);

function keyOf({ credentialKey }: AuthConfig, { appName, userId }: CredentialOwner): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

import type { CredentialOwner, CredentialService } from '../credential-service.ts';
import type { AuthConfig, AuthCredential } from './auth-config.ts';
import { credentialToSave, endOf } from './validity.ts';

/** Credentials in this process, gone with it. */
export class InMemoryCredentialService implements CredentialService {
  readonly #credentials = new Map<string, AuthCredential>();

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
    this.#credentials.set(keyOf(authConfig, context), structuredClone(credentialToSave(authConfig)));
  }
}

function keyOf({ credentialKey }: AuthConfig, { appName, userId }: CredentialOwner): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

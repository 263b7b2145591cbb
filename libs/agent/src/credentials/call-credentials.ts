import type { AuthConfig, AuthCredential } from './auth-config.ts';

/**
 * The credentials of one tool call: the credentials that the call received, and the credential that it has
 * requested. All of them are only in memory, and are not shown when printed.
 */
export class CallCredentials {
  readonly #credentials = new Map<string, AuthCredential>();
  #requestedConfig: AuthConfig | undefined;

  /** The configuration that the tool requested while it ran. Nobody else sees it. */
  get requestedConfig(): AuthConfig | undefined {
    return this.#requestedConfig;
  }

  set requestedConfig(authConfig: AuthConfig | undefined) {
    this.#requestedConfig = authConfig;
  }

  get(credentialKey: string): AuthCredential | undefined {
    return this.#credentials.get(credentialKey);
  }

  give(credentialKey: string, credential: AuthCredential): void {
    this.#credentials.set(credentialKey, credential);
  }
}

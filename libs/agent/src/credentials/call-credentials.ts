import type { AuthConfig, AuthCredential } from './auth-config.ts';

/** The credentials of one tool call: what it was given, and what it has asked for since. They are in memory alone, and no print shows them. */
export class CallCredentials {
  readonly #given = new Map<string, AuthCredential>();
  #wanted: AuthConfig | undefined;

  /** What the tool asked for while it ran: the whole configuration, which nobody else gets to see. */
  get wanted(): AuthConfig | undefined {
    return this.#wanted;
  }

  set wanted(authConfig: AuthConfig | undefined) {
    this.#wanted = authConfig;
  }

  get(credentialKey: string): AuthCredential | undefined {
    return this.#given.get(credentialKey);
  }

  give(credentialKey: string, credential: AuthCredential): void {
    this.#given.set(credentialKey, credential);
  }
}

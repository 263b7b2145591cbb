import type { AuthConfig, AuthCredential } from './auth/auth-config.ts';
import type { Context } from './context.ts';

/** Whose credentials: of one user in one app. A {@link Context} is one. */
export type CredentialOwner = Pick<Context, 'appName' | 'userId'>;

/** Keeps what people let agents use on their behalf, per app, user and `credentialKey`. The methods are ADK's. */
export interface CredentialService {
  /** The credential as it was saved, expired or not; undefined when there is none. */
  loadCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<AuthCredential | undefined>;
  /**
   * Keeps `exchangedAuthCredential` in the place of what is there: until it expires where nothing can refresh it, otherwise for good.
   *
   * @throws MeshError `invalid_argument` without `exchangedAuthCredential`
   */
  saveCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<void>;
}

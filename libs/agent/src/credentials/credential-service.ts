import type { AuthConfig, AuthCredential } from './auth-config.ts';
import { endOf } from './validity.ts';

/** One user of one app: the owner of credentials. A `Context` is one. */
export interface CredentialOwner {
  readonly appName: string;
  readonly userId: string;
}

/** What a credential that is kept is for; nothing secret. */
export interface KeptCredential {
  credentialKey: string;
  authType: AuthCredential['authType'];
  /** When it ends, epoch ms; absent for one that does not, or can be renewed. */
  endsAt?: number;
}

export function aboutCredential({ credentialKey }: AuthConfig, credential: AuthCredential): KeptCredential {
  const endsAt = endOf(credential);
  return { credentialKey, authType: credential.authType, ...(endsAt !== undefined && { endsAt }) };
}

/** Knows which credentials are kept, without being able to open them. */
export interface CredentialRecords {
  /** What the credentials of a user are for. */
  listCredentials(owner: CredentialOwner): Promise<KeptCredential[]>;
  /** Removes all of a user. Returns how many there were. */
  deleteCredentials(owner: CredentialOwner): Promise<number>;
}

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

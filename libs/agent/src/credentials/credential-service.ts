import type { AuthConfig, AuthCredential } from './auth-config.ts';
import { endOf } from './validity.ts';

/** One user of one app, who owns credentials. A `Context` has these fields. */
export interface CredentialOwner {
  readonly appName: string;
  readonly userId: string;
  /** The session of the run in which the credential is used, which a child session has from its caller. */
  readonly homeSessionId?: string;
}

/** The description of a saved credential, without secrets. */
export interface KeptCredential {
  credentialKey: string;
  authType: AuthCredential['authType'];
  /** End of its validity, epoch ms; absent for a credential that does not end or can be renewed. */
  endsAt?: number;
}

export function aboutCredential({ credentialKey }: AuthConfig, credential: AuthCredential): KeptCredential {
  const endsAt = endOf(credential);
  return { credentialKey, authType: credential.authType, ...(endsAt !== undefined && { endsAt }) };
}

/** The list of saved credentials. It cannot decrypt them. */
export interface CredentialRecords {
  /** Lists the credentials of a user, without secrets. */
  listCredentials(owner: CredentialOwner): Promise<KeptCredential[]>;
  /** Deletes all credentials of a user. Returns their number. */
  deleteCredentials(owner: CredentialOwner): Promise<number>;
}

/**
 * A store of the credentials that agents use on behalf of people, by app, user and `credentialKey`. The
 * methods are ADK's.
 */
export interface CredentialService {
  /** Returns the saved credential, expired or not; undefined when there is none. */
  loadCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<AuthCredential | undefined>;
  /**
   * Saves `exchangedAuthCredential` and replaces the previous one. A credential that cannot be refreshed is
   * deleted when it expires.
   *
   * @throws MeshError `invalid_argument` without `exchangedAuthCredential`
   */
  saveCredential(authConfig: AuthConfig, context: CredentialOwner): Promise<void>;
}

import { MeshError, meshTime } from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential } from './auth-config.ts';

/** Safety margin before the end of a token, in ms, because the token must outlast the call. */
const marginMs = 10_000;

/**
 * Tells whether a credential can be used now. Keys and passwords always can; tokens can until shortly before
 * they expire.
 */
export function isUsable({ apiKey, http, oauth2 }: AuthCredential, now = meshTime()): boolean {
  if (apiKey !== undefined || http?.credentials) return true;
  if (oauth2?.accessToken === undefined) return false;
  return oauth2.expiresAt === undefined || oauth2.expiresAt * 1000 - marginMs > now;
}

/**
 * Returns the end of a credential's use, in epoch ms; undefined for a credential that can be refreshed or
 * does not expire.
 */
export function endOf({ oauth2 }: AuthCredential): number | undefined {
  if (oauth2?.expiresAt === undefined || oauth2.refreshToken !== undefined) return undefined;
  return oauth2.expiresAt * 1000;
}

/**
 * Returns the credential to save.
 *
 * @throws MeshError `invalid_argument` without a credential, or without a key
 */
export function credentialToSave({ exchangedAuthCredential, credentialKey }: AuthConfig): AuthCredential {
  if (!credentialKey) throw new MeshError('invalid_argument', 'saveCredential needs a credentialKey');
  if (exchangedAuthCredential) return exchangedAuthCredential;
  throw new MeshError('invalid_argument', 'saveCredential saves exchangedAuthCredential; set it');
}

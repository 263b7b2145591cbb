import { MeshError } from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential } from './auth-config.ts';

/** So long before its end a token counts as expired, in ms: it must outlast the call. */
const marginMs = 10_000;

/** Can it be used now? Keys and passwords always; tokens until shortly before they expire. */
export function isUsable({ apiKey, http, oauth2 }: AuthCredential, now = Date.now()): boolean {
  if (apiKey !== undefined || http?.credentials) return true;
  if (oauth2?.accessToken === undefined) return false;
  return oauth2.expiresAt === undefined || oauth2.expiresAt * 1000 - marginMs > now;
}

/** When it is of no use any more, in epoch ms; undefined for what can be refreshed, or does not expire. */
export function endOf({ oauth2 }: AuthCredential): number | undefined {
  if (oauth2?.expiresAt === undefined || oauth2.refreshToken !== undefined) return undefined;
  return oauth2.expiresAt * 1000;
}

/** What is to be saved. @throws MeshError `invalid_argument` without it, or without a key */
export function credentialToSave({ exchangedAuthCredential, credentialKey }: AuthConfig): AuthCredential {
  if (!credentialKey) throw new MeshError('invalid_argument', 'saveCredential needs a credentialKey');
  if (exchangedAuthCredential) return exchangedAuthCredential;
  throw new MeshError('invalid_argument', 'saveCredential saves exchangedAuthCredential; set it');
}

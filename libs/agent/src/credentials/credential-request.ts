import type { AuthConfig, AuthCredential } from './auth-config.ts';
import type { SignIn } from './sign-in-service.ts';

/**
 * What a client is told of a wanted credential: how to sign in, and nothing secret. Of the application's own part it sees the client id
 * alone; for an authorization code grant it gets the address to send the user to.
 */
export function shownRequest(
  { authScheme, rawAuthCredential: raw, credentialKey }: AuthConfig,
  { authUri, state }: Partial<SignIn> = {},
): AuthConfig {
  const shown = raw && publicPart(raw);
  const signIn = authUri !== undefined && state !== undefined && { authUri, state };
  return {
    authScheme,
    credentialKey,
    ...(shown && { rawAuthCredential: shown }),
    ...(shown && {
      exchangedAuthCredential: signIn ? { ...shown, oauth2: { ...shown.oauth2, ...signIn } } : shown,
    }),
  };
}

function publicPart({ authType, http, oauth2 }: AuthCredential): AuthCredential {
  return {
    authType,
    ...(http?.scheme !== undefined && { http: { scheme: http.scheme } }),
    ...(oauth2 && { oauth2: pick(oauth2, ['clientId', 'redirectUri']) }),
  };
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(
    keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]),
  ) as Pick<T, K>;
}

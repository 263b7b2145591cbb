import type { AuthConfig, AuthCredential } from './auth-config.ts';
import type { SignIn } from './sign-in-service.ts';

/**
 * Makes the client's view of a requested credential: the way to sign in, without secrets. Of the
 * application's own part the view shows only the client id; for an authorization code grant the view holds
 * the address for the user.
 */
export function shownRequest(
  { authScheme, rawAuthCredential: raw, credentialKey }: AuthConfig,
  { authUri, state }: Partial<SignIn> = {},
): AuthConfig {
  const publicCredential = raw && publicPart(raw);
  const signIn = authUri !== undefined && state !== undefined && { authUri, state };
  return {
    authScheme,
    credentialKey,
    ...(publicCredential && { rawAuthCredential: publicCredential }),
    ...(publicCredential && {
      exchangedAuthCredential: signIn
        ? { ...publicCredential, oauth2: { ...publicCredential.oauth2, ...signIn } }
        : publicCredential,
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

import { MeshError } from '@agentmesh/protocol';
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

/**
 * Takes from an answer what is the user's to give: keys, tokens, the code. Endpoints and the application's part are those of the question;
 * an answer cannot change them.
 *
 * @throws MeshError `invalid_argument` for an answer without a credential; `permission_denied` when the sign-in is not the one that was asked for
 */
export function credentialFrom(asked: AuthConfig, response: unknown): AuthCredential {
  const given = (response as Partial<AuthConfig> | undefined)?.exchangedAuthCredential;
  if (typeof given !== 'object' || given === null) {
    throw new MeshError(
      'invalid_argument',
      'the answer to a request for credentials needs exchangedAuthCredential',
    );
  }
  const { authType, apiKey, http, oauth2 } = given;
  const expected = asked.exchangedAuthCredential?.oauth2;
  const returned = oauth2?.authResponseUri;
  if (expected?.state !== undefined && typeof returned === 'string') {
    const state = URL.canParse(returned) ? new URL(returned).searchParams.get('state') : null;
    if (state !== expected.state) {
      throw new MeshError(
        'permission_denied',
        'the sign-in is not the one that was asked for: its state differs',
      );
    }
  }
  const { clientId } = expected ?? {};
  return {
    authType: asked.exchangedAuthCredential?.authType ?? authType ?? 'apiKey',
    ...(apiKey !== undefined && { apiKey }),
    ...(http && { http }),
    ...(oauth2 && { oauth2: { ...(clientId !== undefined && { clientId }), ...pick(oauth2, usersFields) } }),
  };
}

const usersFields = [
  'authCode',
  'authResponseUri',
  'redirectUri',
  'accessToken',
  'refreshToken',
  'idToken',
  'expiresAt',
  'expiresIn',
] as const;

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(
    keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]),
  ) as Pick<T, K>;
}

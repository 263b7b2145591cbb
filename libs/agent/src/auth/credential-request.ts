import { randomUUID } from 'node:crypto';
import { MeshError } from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential, AuthScheme, OAuth2Credential } from './auth-config.ts';

/** State key under which a credential is there for the rest of the invocation; never stored in the session. */
export function credentialStateKey({ credentialKey }: Pick<AuthConfig, 'credentialKey'>): string {
  return `temp:${credentialKey}`;
}

/**
 * What a client is told of a wanted credential: how to sign in, and nothing secret. Of the application's own part it sees the client id
 * alone; for an authorization code grant it gets the address to send the user to.
 *
 * @throws MeshError `invalid_argument` without a credential key
 */
export function credentialRequest({
  authScheme,
  rawAuthCredential: raw,
  credentialKey,
}: AuthConfig): AuthConfig {
  if (!credentialKey)
    throw new MeshError(
      'invalid_argument',
      'requestCredential needs a credentialKey to keep the answer under',
    );
  const shown = raw && publicPart(raw);
  const signIn = raw?.oauth2 && signInOf(authScheme, raw.oauth2);
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

/** Where the user signs in (RFC 6749 §4.1.1), and the `state` that must come back with the answer. */
function signInOf(
  scheme: AuthScheme,
  { clientId, redirectUri }: OAuth2Credential,
): Pick<OAuth2Credential, 'authUri' | 'state'> | undefined {
  const { endpoint, scopes } = authorizationOf(scheme);
  if (endpoint === undefined || clientId === undefined || !URL.canParse(endpoint)) return undefined;
  const state = randomUUID();
  const url = new URL(endpoint);
  const query = {
    client_id: clientId,
    ...(redirectUri !== undefined && { redirect_uri: redirectUri }),
    response_type: 'code',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    state,
    access_type: 'offline',
    prompt: 'consent',
  };
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
  return { authUri: url.href, state };
}

function authorizationOf(scheme: AuthScheme): { endpoint: string | undefined; scopes: string[] } {
  const { authorizationEndpoint, scopes: given } = scheme;
  if (typeof authorizationEndpoint === 'string')
    return { endpoint: authorizationEndpoint, scopes: Array.isArray(given) ? given.map(String) : [] };
  const { authorizationCode: flow } = (scheme.flows ?? {}) as {
    authorizationCode?: { authorizationUrl?: string; scopes?: Record<string, string> };
  };
  return { endpoint: flow?.authorizationUrl, scopes: Object.keys(flow?.scopes ?? {}) };
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

import {
  authorizationCodeGrantRequest,
  clientCredentialsGrantRequest,
  nopkce,
  processAuthorizationCodeResponse,
  processClientCredentialsResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import type { AuthConfig, AuthCredential, OAuth2Credential } from '../credentials/auth-config.ts';
import type { SignIn } from '../credentials/sign-in-service.ts';
import { type ServerAndClient, serverOf } from './authorization-server.ts';
import { TokenError, tokenError } from './token-error.ts';

/** Does the answer hold a code that must be redeemed? Tokens and keys are used as they are. */
export function holdsCode({ oauth2 }: AuthCredential): boolean {
  return oauth2?.accessToken === undefined && Boolean(oauth2?.authCode ?? oauth2?.authResponseUri);
}

/**
 * Redeems the code of a sign-in (RFC 6749 §4.1.3, RFC 7636). The state is checked once more, and `iss` (RFC 9207) and the ID token where the
 * issuer is known. Endpoints, client and redirect address are those of the question. It cannot be aborted: half-way the code would be lost.
 *
 * @throws TokenError `unauthenticated` when the server refuses, `unavailable` when it does not answer
 */
export async function redeemCode(
  { authConfig, state, codeVerifier, nonce }: SignIn,
  { oauth2: given = {} }: AuthCredential,
): Promise<AuthCredential> {
  const redirectUri = authConfig.rawAuthCredential?.oauth2?.redirectUri ?? given.redirectUri ?? '';
  if (redirectUri === '')
    throw new TokenError('unauthenticated', 'the sign-in has no redirectUri; set it in the tool, or send it');
  return await tokensOf(authConfig, 'the code', undefined, async (found) => {
    const { server, client, authentication, options } = found;
    const parameters = validateAuthResponse(
      given.authResponseUri === undefined ? withoutIss(server) : server,
      client,
      returned(found, given, state),
      state,
    );
    const response = await authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      parameters,
      redirectUri,
      codeVerifier ?? nopkce,
      options(),
    );
    return await processAuthorizationCodeResponse(
      server,
      client,
      await checkable(found, response),
      nonce === undefined ? {} : { expectedNonce: nonce },
    );
  });
}

/** Renews a credential by its refresh token (RFC 6749 §6), which may be good once: it cannot be aborted either. @throws TokenError as {@link redeemCode} */
export async function refreshTokens(
  authConfig: AuthConfig,
  credential: AuthCredential,
): Promise<AuthCredential> {
  const { refreshToken = '' } = credential.oauth2 ?? {};
  const fresh = await tokensOf(authConfig, 'the refresh token', undefined, async (found) => {
    const { server, client, authentication, options } = found;
    const response = await refreshTokenGrantRequest(server, client, authentication, refreshToken, options());
    return await processRefreshTokenResponse(server, client, await checkable(found, response));
  });
  // A server that names no new one means the old one to be used on.
  return { ...fresh, oauth2: { refreshToken, ...fresh.oauth2 } };
}

/** A token of the application's own (RFC 6749 §4.4). @throws TokenError as {@link redeemCode} */
export async function fetchOwnToken(
  authConfig: AuthConfig,
  signal: AbortSignal | undefined,
): Promise<AuthCredential> {
  const { audience } = authConfig.rawAuthCredential?.oauth2 ?? {};
  return await tokensOf(authConfig, 'client credentials', signal, async (found) => {
    const { server, client, authentication, scopes, options } = found;
    const parameters = {
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(audience !== undefined && { audience }),
    };
    const response = await clientCredentialsGrantRequest(
      server,
      client,
      authentication,
      parameters,
      options(signal),
    );
    return await processClientCredentialsResponse(server, client, await checkable(found, response));
  });
}

async function tokensOf(
  authConfig: AuthConfig,
  what: string,
  signal: AbortSignal | undefined,
  request: (found: ServerAndClient) => Promise<TokenEndpointResponse>,
): Promise<AuthCredential> {
  const found = await serverOf(authConfig, signal);
  try {
    return credentialOf(authConfig, await request(found));
  } catch (error) {
    signal?.throwIfAborted();
    throw tokenError(what, error);
  }
}

function credentialOf(
  { rawAuthCredential }: AuthConfig,
  { access_token, refresh_token, id_token, expires_in }: TokenEndpointResponse,
): AuthCredential {
  const clientId = rawAuthCredential?.oauth2?.clientId;
  return {
    authType: rawAuthCredential?.authType ?? 'oauth2',
    oauth2: {
      ...(clientId !== undefined && { clientId }),
      accessToken: access_token,
      ...(refresh_token !== undefined && { refreshToken: refresh_token }),
      ...(id_token !== undefined && { idToken: id_token }),
      ...(expires_in !== undefined && { expiresAt: Math.floor(Date.now() / 1000) + expires_in }),
    },
  };
}

/** What the person came back with. A bare code has no state: that it is the answer to this question is all that is known. */
function returned(
  { hasIssuer }: ServerAndClient,
  { authResponseUri, authCode = '' }: OAuth2Credential,
  state: string | undefined,
): URLSearchParams {
  const parameters =
    authResponseUri === undefined
      ? new URLSearchParams({ code: authCode, ...(state !== undefined && { state }) })
      : new URLSearchParams(URL.canParse(authResponseUri) ? new URL(authResponseUri).search : '');
  if (!hasIssuer) parameters.delete('iss');
  return parameters;
}

function withoutIss(server: ServerAndClient['server']): ServerAndClient['server'] {
  return { ...server, authorization_response_iss_parameter_supported: false };
}

/** An ID token whose issuer is not known cannot be checked, so it is not taken. */
async function checkable({ hasIssuer }: ServerAndClient, response: Response): Promise<Response> {
  if (hasIssuer || !response.ok) return response;
  const body = await response.json().catch(() => undefined);
  if (typeof body === 'object' && body !== null) Reflect.deleteProperty(body, 'id_token');
  return Response.json(body ?? null, { status: response.status });
}

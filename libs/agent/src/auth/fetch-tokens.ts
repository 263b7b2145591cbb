import { meshTime } from '@agentmesh/protocol';
import {
  type AuthorizationServer,
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
import { ofTenant, type ServerAndClient, serverOf } from './authorization-server.ts';
import { tokenError } from './describe-token-error.ts';
import { readTokenAnswer } from './read-token-answer.ts';
import { TokenError } from './token-error.ts';

/**
 * Redeems the code of a sign-in (RFC 6749 §4.1.3, RFC 7636). Checks the state once more, and `iss` (RFC 9207)
 * and the ID token when the issuer is known. Endpoints, client and redirect address come from the question.
 * The request cannot be aborted, because an abort could lose the code.
 *
 * @throws TokenError `unauthenticated` when the server refuses, `unavailable` when it does not answer
 */
export async function redeemCode(
  { authConfig, state, codeVerifier, nonce }: SignIn,
  { oauth2: answer = {} }: AuthCredential,
): Promise<AuthCredential> {
  const redirectUri = authConfig.rawAuthCredential?.oauth2?.redirectUri ?? answer.redirectUri ?? '';
  if (redirectUri === '')
    throw new TokenError('unauthenticated', 'the sign-in has no redirectUri; set it in the tool, or send it');
  return await tokensOf(authConfig, 'the code', undefined, async (serverAndClient) => {
    const { server, client, authentication, options } = serverAndClient;
    const parameters = validateAuthResponse(
      answer.authResponseUri === undefined ? withoutIss(server) : server,
      client,
      returnParameters(serverAndClient, answer, state),
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
    return [
      response,
      (issuer, answer) =>
        processAuthorizationCodeResponse(
          issuer,
          client,
          answer,
          nonce === undefined ? {} : { expectedNonce: nonce },
        ),
    ];
  });
}

/**
 * Renews a credential with its refresh token (RFC 6749 §6). The request cannot be aborted either, because the
 * token may be valid only once.
 *
 * @throws TokenError as {@link redeemCode}
 */
export async function refreshTokens(
  authConfig: AuthConfig,
  credential: AuthCredential,
): Promise<AuthCredential> {
  const { refreshToken = '' } = credential.oauth2 ?? {};
  const fresh = await tokensOf(authConfig, 'the refresh token', undefined, async (serverAndClient) => {
    const { server, client, authentication, options } = serverAndClient;
    const response = await refreshTokenGrantRequest(server, client, authentication, refreshToken, options());
    return [response, (issuer, answer) => processRefreshTokenResponse(issuer, client, answer)];
  });
  // A response without a new refresh token means that the old one stays valid.
  return { ...fresh, oauth2: { refreshToken, ...fresh.oauth2 } };
}

/**
 * Fetches a token of the application itself (RFC 6749 §4.4).
 *
 * @throws TokenError as {@link redeemCode}
 */
export async function fetchOwnToken(
  authConfig: AuthConfig,
  signal: AbortSignal | undefined,
): Promise<AuthCredential> {
  const { audience } = authConfig.rawAuthCredential?.oauth2 ?? {};
  return await tokensOf(authConfig, 'client credentials', signal, async (serverAndClient) => {
    const { server, client, authentication, scopes, options } = serverAndClient;
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
    return [response, (issuer, answer) => processClientCredentialsResponse(issuer, client, answer)];
  });
}

/** Checks an answer of the server, which is named by its issuer. */
type Check = (server: AuthorizationServer, answer: Response) => Promise<TokenEndpointResponse>;

async function tokensOf(
  authConfig: AuthConfig,
  what: string,
  signal: AbortSignal | undefined,
  request: (serverAndClient: ServerAndClient) => Promise<[Response, Check]>,
): Promise<AuthCredential> {
  const serverAndClient = await serverOf(authConfig, signal);
  try {
    const [received, check] = await request(serverAndClient);
    const { server, hasIssuer } = serverAndClient;
    // Without a known issuer the ID token cannot be checked.
    const { response, idToken } = await readTokenAnswer(what, received, hasIssuer);
    return credentialOf(authConfig, await check(ofTenant(server, idToken), response));
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
      ...(expires_in !== undefined && { expiresAt: Math.floor(meshTime() / 1000) + expires_in }),
    },
  };
}

/**
 * Returns the parameters of the person's return. A bare code has no state: it is only known to answer this
 * question.
 */
function returnParameters(
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

import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  discoveryRequest,
  None,
  processDiscoveryResponse,
} from 'oauth4webapi';
import type { AuthConfig, OAuth2Credential } from '../credentials/auth-config.ts';
import { tokenError } from './describe-token-error.ts';
import { oauthOf, requestMs, type SchemeOAuth } from './scheme-oauth.ts';
import { TokenError } from './token-error.ts';

/** An authorization server, and the application as its client. */
export interface ServerAndClient {
  server: AuthorizationServer;
  client: Client;
  authentication: ClientAuth;
  scopes: string[];
  /** Tells whether the issuer is known, so that ID tokens and `iss` can be checked. */
  hasIssuer: boolean;
  /** Returns the options of one request. */
  options(signal?: AbortSignal): RequestOptions;
}

/**
 * Reads the endpoints from the scheme or by discovery (OpenID Connect Discovery 1.0 §4), and the client from
 * the application's credential.
 *
 * @throws TokenError `failed_precondition` when the client id or an endpoint is missing; otherwise when
 * discovery fails
 */
export async function serverOf(
  { authScheme, rawAuthCredential }: AuthConfig,
  signal: AbortSignal | undefined,
): Promise<ServerAndClient> {
  const oauth = oauthOf(authScheme);
  const credential = rawAuthCredential?.oauth2;
  if (credential?.clientId === undefined)
    throw new TokenError('failed_precondition', 'rawAuthCredential.oauth2 has no clientId; set it');
  const server = oauth.tokenEndpoint === undefined ? await discover(oauth, signal) : writtenOut(oauth);
  return {
    server,
    client: { client_id: credential.clientId },
    authentication: authenticationOf(credential),
    scopes: oauth.scopes,
    hasIssuer: oauth.tokenEndpoint === undefined || oauth.issuer !== undefined,
    options: (abort) => optionsFor(server.token_endpoint, abort),
  };
}

function writtenOut({ issuer, authorizationEndpoint, tokenEndpoint = '' }: SchemeOAuth): AuthorizationServer {
  if (!URL.canParse(tokenEndpoint))
    throw new TokenError(
      'failed_precondition',
      'the token endpoint of the auth scheme is not a URL; correct it',
    );
  return {
    issuer: issuer ?? new URL(tokenEndpoint).origin,
    token_endpoint: tokenEndpoint,
    ...(authorizationEndpoint !== undefined && { authorization_endpoint: authorizationEndpoint }),
  };
}

const wellKnown = '/.well-known/openid-configuration';

async function discover(
  { openIdConnectUrl: url = '', issuer }: SchemeOAuth,
  signal: AbortSignal | undefined,
): Promise<AuthorizationServer> {
  const from = issuer ?? (url.endsWith(wellKnown) ? url.slice(0, -wellKnown.length) : undefined);
  if (from === undefined || !URL.canParse(from)) {
    throw new TokenError(
      'failed_precondition',
      `the auth scheme needs a token endpoint, or an openIdConnectUrl that ends with ${wellKnown}`,
    );
  }
  try {
    const response = await discoveryRequest(new URL(from), optionsFor(from, signal));
    return await processDiscoveryResponse(new URL(from), response);
  } catch (error) {
    throw tokenError('the discovery of its endpoints', error, true);
  }
}

function authenticationOf({ clientSecret, tokenEndpointAuthMethod }: OAuth2Credential): ClientAuth {
  if (clientSecret === undefined || tokenEndpointAuthMethod === 'none') return None();
  return tokenEndpointAuthMethod === 'client_secret_post'
    ? ClientSecretPost(clientSecret)
    : ClientSecretBasic(clientSecret);
}

interface RequestOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
  [allowInsecureRequests]: boolean;
}

/**
 * Makes the options of a request. Requests without TLS are allowed only within this machine. Each request
 * opens a connection of its own: when a server closes a kept-alive connection, nobody could tell whether the
 * code was sent.
 */
function optionsFor(endpoint: string | undefined, signal: AbortSignal | undefined): RequestOptions {
  const host = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint).hostname : '';
  const timeout = AbortSignal.timeout(requestMs);
  return {
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    headers: { connection: 'close' },
    [allowInsecureRequests]: ['localhost', '127.0.0.1', '[::1]'].includes(host),
  };
}

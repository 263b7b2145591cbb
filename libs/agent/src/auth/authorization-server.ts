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
import type { AuthConfig, AuthScheme, OAuth2Credential } from '../credentials/auth-config.ts';
import { TokenError, tokenError } from './token-error.ts';

/** Time limit of one request to an authorization server, in ms. */
export const requestMs = 10_000;

/**
 * The way to get a token: by a person's sign-in, by the application itself, or by another grant, which the
 * framework does not support.
 */
export type Grant = 'authorization_code' | 'client_credentials' | 'other';

/** The OAuth2 part of a scheme, with the configured endpoints. */
export interface SchemeOAuth {
  grant: Grant;
  authorizationEndpoint?: string | undefined;
  tokenEndpoint?: string | undefined;
  issuer?: string | undefined;
  scopes: string[];
  /** The discovery document with the other endpoints. */
  openIdConnectUrl?: string | undefined;
}

interface Flow {
  authorizationUrl?: string;
  tokenUrl?: string;
  scopes?: Record<string, string>;
}

/** As in ADK: client credentials, if the scheme has them, take precedence over a sign-in. */
export function oauthOf(scheme: AuthScheme): SchemeOAuth {
  const { authorizationCode, clientCredentials } = (scheme.flows ?? {}) as Record<string, Flow | undefined>;
  const flow = clientCredentials ?? authorizationCode;
  if (scheme.type === 'oauth2' && flow) {
    return {
      grant: clientCredentials ? 'client_credentials' : 'authorization_code',
      authorizationEndpoint: flow.authorizationUrl,
      tokenEndpoint: flow.tokenUrl,
      issuer: text(scheme.issuer),
      scopes: Object.keys(flow.scopes ?? {}),
    };
  }
  const { authorizationEndpoint, tokenEndpoint, openIdConnectUrl, grantTypesSupported = [] } = scheme;
  const url = text(openIdConnectUrl);
  if (text(authorizationEndpoint) === undefined && text(tokenEndpoint) === undefined && url === undefined)
    return { grant: 'other', scopes: [] };
  const byItself = Array.isArray(grantTypesSupported) && grantTypesSupported.includes('client_credentials');
  const scopes = Array.isArray(scheme.scopes) ? scheme.scopes.map(String) : [];
  return {
    grant: byItself ? 'client_credentials' : 'authorization_code',
    authorizationEndpoint: text(authorizationEndpoint),
    tokenEndpoint: text(tokenEndpoint),
    issuer: text(scheme.issuer),
    scopes: scopes.length === 0 && !byItself ? ['openid'] : scopes,
    openIdConnectUrl: url,
  };
}

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

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

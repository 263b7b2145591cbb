import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  None,
  processDiscoveryResponse,
} from 'oauth4webapi';
import type { AuthConfig, OAuth2Credential } from '../credentials/auth-config.ts';
import { insecureAddress, tokenError } from './describe-token-error.ts';
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

/**
 * Reads the discovery document. The scheme names its address, so a document of the same host may name another issuer
 * than its address does, as those of Authentik and of Azure AD B2C do; one of another host must be the issuer of the
 * scheme.
 */
async function discover(
  { openIdConnectUrl, issuer }: SchemeOAuth,
  signal: AbortSignal | undefined,
): Promise<AuthorizationServer> {
  const url = openIdConnectUrl ?? (issuer === undefined ? '' : `${issuer.replace(/\/$/, '')}${wellKnown}`);
  if (!URL.canParse(url) || !new URL(url).pathname.includes('/.well-known/')) {
    throw new TokenError(
      'failed_precondition',
      `the auth scheme needs a token endpoint, or an openIdConnectUrl that ends with ${wellKnown}`,
    );
  }
  const document = await readDocument(new URL(url), signal);
  const found = document.issuer;
  const isExpected =
    issuer === undefined
      ? URL.canParse(found) && new URL(found).host === new URL(url).host
      : isSame(issuer, found);
  if (isExpected) return document;
  const expected = issuer ?? new URL(url).origin;
  throw new TokenError(
    'failed_precondition',
    `the document at ${url} is of the issuer ${found}, and not of ${expected}; set issuer: '${found}' in the auth scheme if this is the provider you mean`,
  );
}

const isSame = (one: string, other: string) => one.replace(/\/$/, '') === other.replace(/\/$/, '');

async function readDocument(url: URL, signal: AbortSignal | undefined): Promise<AuthorizationServer> {
  const what = 'the discovery of its endpoints';
  const options = optionsFor(url.href, signal);
  if (url.protocol !== 'https:' && !options[allowInsecureRequests]) throw insecureAddress();
  try {
    const response = await fetch(url, { ...options, redirect: 'manual' });
    const document: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    const { issuer } = (document ?? {}) as { issuer?: unknown };
    const named = typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer) : url;
    return await processDiscoveryResponse(named, response);
  } catch (error) {
    throw tokenError(what, error, true);
  }
}

/**
 * Returns the server as the issuer of an ID token. A server of Entra for all tenants has `{tenantid}` in the place of
 * the tenant, which the token names.
 */
export function ofTenant(server: AuthorizationServer, idToken: string | undefined): AuthorizationServer {
  if (idToken === undefined || !server.issuer.includes(tenantPart)) return server;
  const { tid } = claimsOf(idToken);
  return typeof tid === 'string' && /^[\w-]+$/.test(tid)
    ? { ...server, issuer: server.issuer.replace(tenantPart, tid) }
    : server;
}

/** Reads the claims of a token that is not yet checked. */
function claimsOf(token: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    return {};
  }
}

const tenantPart = '{tenantid}';

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

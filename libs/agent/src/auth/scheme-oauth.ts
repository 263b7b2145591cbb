import type { AuthScheme } from '../credentials/auth-config.ts';

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

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

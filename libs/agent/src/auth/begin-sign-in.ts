import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
} from 'oauth4webapi';
import type { AuthConfig } from '../credentials/auth-config.ts';
import type { SignIn } from '../credentials/sign-in-service.ts';
import { serverOf } from './authorization-server.ts';
import { oauthOf } from './scheme-oauth.ts';

/**
 * Makes the sign-in for a configuration. For an authorization code grant the sign-in holds the address for
 * the person, with PKCE (RFC 7636, S256) and a state. For everything else the sign-in is empty: the person
 * enters a key.
 *
 * @throws TokenError when the endpoints cannot be discovered
 */
export async function beginSignIn(authConfig: AuthConfig, signal: AbortSignal | undefined): Promise<SignIn> {
  const { authScheme, rawAuthCredential } = authConfig;
  const { grant, authorizationEndpoint, openIdConnectUrl } = oauthOf(authScheme);
  const credential = rawAuthCredential?.oauth2;
  const isPossible = authorizationEndpoint !== undefined || openIdConnectUrl !== undefined;
  if (grant !== 'authorization_code' || credential?.clientId === undefined || !isPossible)
    return { authConfig };
  const { server, scopes, hasIssuer } = await serverOf(authConfig, signal);
  const { authorization_endpoint: endpoint = '' } = server;
  if (!URL.canParse(endpoint)) return { authConfig };
  const state = generateRandomState();
  const codeVerifier = generateRandomCodeVerifier();
  const nonce = scopes.includes('openid') && hasIssuer ? generateRandomNonce() : undefined;
  const url = new URL(endpoint);
  const query = {
    client_id: credential.clientId,
    redirect_uri: credential.redirectUri,
    response_type: 'code',
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    state,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    nonce,
    audience: credential.audience,
    // This asks for a refresh token, in Google's way and in the way of OpenID Connect.
    access_type: 'offline',
    prompt: 'consent',
  };
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, value);
  return { authConfig, authUri: url.href, state, codeVerifier, ...(nonce !== undefined && { nonce }) };
}

import { type SignInServer, startSignInServer } from '@agentmesh/testing/sign-in-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { fetchOwnToken, redeemCode, refreshTokens } from './fetch-tokens.ts';

let server: SignInServer;
beforeAll(async () => {
  server = await startSignInServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.tokenRequests.length = 0;
  server.answers = 'send';
});

const scopes = { openid: '', offline_access: '', calendar: '' };

/** Configurations of the same server by three kinds of schemes. */
function configs(): Record<string, AuthConfig> {
  const { url, clientId, clientSecret, redirectUri } = server;
  const rest = {
    credentialKey: 'calendar',
    rawAuthCredential: { authType: 'oauth2', oauth2: { clientId, clientSecret, redirectUri } },
  } as const;
  const authorizationUrl = `${url}/auth`;
  const tokenUrl = `${url}/token`;
  return {
    oauth2: {
      ...rest,
      authScheme: {
        type: 'oauth2',
        flows: { authorizationCode: { authorizationUrl, tokenUrl, scopes } },
      },
    },
    openIdConnectUrl: {
      ...rest,
      authScheme: {
        type: 'openIdConnect',
        openIdConnectUrl: `${url}/.well-known/openid-configuration`,
        scopes: Object.keys(scopes),
      },
    },
    writtenOut: {
      ...rest,
      authScheme: {
        type: 'openIdConnect',
        authorizationEndpoint: authorizationUrl,
        tokenEndpoint: tokenUrl,
        scopes: Object.keys(scopes),
      },
    },
    ownToken: {
      ...rest,
      authScheme: { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: { calendar: '' } } } },
    },
  };
}

const config = (name: string): AuthConfig => configs()[name] as AuthConfig;

async function signedIn(name = 'oauth2') {
  const signIn = await beginSignIn(config(name), undefined);
  const authResponseUri = await server.signIn(signIn.authUri ?? '');
  const answer: AuthCredential = { authType: 'oauth2', oauth2: { authResponseUri } };
  return { signIn, answer, code: new URL(authResponseUri).searchParams.get('code') ?? '' };
}

async function who({ oauth2 }: AuthCredential): Promise<unknown> {
  const response = await fetch(`${server.url}/me`, {
    headers: { authorization: `Bearer ${oauth2?.accessToken}` },
  });
  return await response.json();
}

describe('an authorization code with PKCE', () => {
  it.each(['oauth2', 'openIdConnectUrl', 'writtenOut'])('is redeemed once: %s', async (name) => {
    const { signIn, answer, code } = await signedIn(name);
    const query = new URL(signIn.authUri ?? '').searchParams;
    expect(query.get('code_challenge_method')).toBe('S256');
    expect(query.get('state')).toBe(signIn.state);
    expect(signIn.authUri).not.toContain(signIn.codeVerifier);
    const credential = await redeemCode(signIn, answer);
    expect(await who(credential)).toEqual({ sub: 'ann' });
    expect(credential.oauth2?.refreshToken).toMatch(/./);
    expect(credential.oauth2?.expiresAt).toBeCloseTo(Date.now() / 1000 + 3600, -1);
    // Without a known issuer the ID token cannot be checked.
    expect(credential.oauth2?.idToken !== undefined).toBe(name === 'openIdConnectUrl');
    expect(JSON.stringify(credential)).not.toContain(server.clientSecret);
    const failure = await redeemCode(signIn, answer).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'unauthenticated',
      message: 'the authorization server refused the code (invalid_grant)',
    });
    expect(JSON.stringify(failure) + String(failure)).not.toContain(code);
    expect(server.tokenRequests.map(({ status }) => status)).toEqual([200, 400]);
  });

  it('is redeemed as a bare code too', async () => {
    const { signIn, code } = await signedIn('openIdConnectUrl');
    const credential = await redeemCode(signIn, { authType: 'oauth2', oauth2: { authCode: code } });
    expect(await who(credential)).toEqual({ sub: 'ann' });
  });

  it('is refused with another state, another verifier, or when the user declined', async () => {
    const { signIn, answer } = await signedIn();
    await expect(redeemCode({ ...signIn, state: 'other' }, answer)).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    const denied = `${server.redirectUri}?error=access_denied&state=${signIn.state}`;
    await expect(
      redeemCode(signIn, { authType: 'oauth2', oauth2: { authResponseUri: denied } }),
    ).rejects.toThrow('the sign-in was not granted (access_denied)');
    expect(server.tokenRequests).toEqual([]);
    const verifier = 'v'.repeat(43);
    await expect(redeemCode({ ...signIn, codeVerifier: verifier }, answer)).rejects.toThrow('invalid_grant');
  });

  it('counts as unsent when the connection fails, and as possibly sent without an answer', async () => {
    const { signIn, answer } = await signedIn();
    await server.down();
    await expect(redeemCode(signIn, answer)).rejects.toMatchObject({ code: 'unavailable', isUnsent: true });
    await server.up();
    server.answers = 'drop';
    await expect(redeemCode(signIn, answer)).rejects.toMatchObject({ code: 'unavailable', isUnsent: false });
  });
});

describe('other grants', () => {
  it('renews a token; a refresh token that was used is refused', async () => {
    const { signIn, answer } = await signedIn();
    const first = await redeemCode(signIn, answer);
    const second = await refreshTokens(config('oauth2'), first);
    expect(await who(second)).toEqual({ sub: 'ann' });
    expect(second.oauth2?.refreshToken).not.toBe(first.oauth2?.refreshToken);
    await expect(refreshTokens(config('oauth2'), first)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('fetches a token of the application itself; a wrong secret is refused, and not shown', async () => {
    const own = config('ownToken');
    const { oauth2 } = await fetchOwnToken(own, undefined);
    expect(oauth2).toMatchObject({ clientId: server.clientId, accessToken: expect.any(String) });
    const wrong = { clientId: server.clientId, clientSecret: 'WRONG' };
    const failure = await fetchOwnToken(
      { ...own, rawAuthCredential: { authType: 'oauth2', oauth2: wrong } },
      undefined,
    ).catch(String);
    expect(failure).toContain('refused');
    expect(failure).not.toContain('WRONG');
  });

  it('sends secrets without TLS only within this machine', async () => {
    const authScheme = {
      type: 'oauth2',
      flows: { clientCredentials: { tokenUrl: 'http://example.com/token', scopes: {} } },
    } as const;
    await expect(fetchOwnToken({ ...config('ownToken'), authScheme }, undefined)).rejects.toThrow('https');
  });

  it('says what is missing in a configuration', async () => {
    const authScheme = { type: 'openIdConnect', openIdConnectUrl: 'https://example.com/nothing' } as const;
    const lacking = { ...config('oauth2'), authScheme };
    await expect(fetchOwnToken(lacking, undefined)).rejects.toThrow(/token endpoint, or an openIdConnectUrl/);
    await expect(fetchOwnToken({ credentialKey: 'k', authScheme }, undefined)).rejects.toThrow('clientId');
  });
});

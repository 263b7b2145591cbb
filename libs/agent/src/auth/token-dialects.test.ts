import { busyDialects, refusalDialects, tokenDialects } from '@agentmesh/testing/token-dialects';
import { beforeEach, describe, expect, it } from 'vitest';
import { beginSignIn } from './begin-sign-in.ts';
import { fetchOwnToken, redeemCode, refreshTokens } from './fetch-tokens.ts';
import { calendar, ownToken, server, withSignInServer } from './sign-in.fixture.ts';

withSignInServer();
beforeEach(() => {
  server.dialect = undefined;
  server.discovery = undefined;
});

async function signedIn(config = calendar()) {
  const signIn = await beginSignIn(config, undefined);
  const authResponseUri = await server.signIn(signIn.authUri ?? '');
  return await redeemCode(signIn, { authType: 'oauth2', oauth2: { authResponseUri } });
}

async function isValid(token: string | undefined): Promise<boolean> {
  const { status } = await fetch(`${server.url}/me`, { headers: { authorization: `Bearer ${token}` } });
  return status === 200;
}

describe.each(Object.entries(tokenDialects))('tokens as %s', (_name, dialect) => {
  it('are taken for a code, at a renewal with the next refresh token, and for the application', async () => {
    server.dialect = dialect;
    const first = await signedIn();
    expect(await isValid(first.oauth2?.accessToken)).toBe(true);
    expect(first.oauth2?.expiresAt).toBeCloseTo(Date.now() / 1000 + 3600, -1);
    const second = await refreshTokens(calendar(), first);
    expect(await isValid(second.oauth2?.accessToken)).toBe(true);
    expect(second.oauth2?.refreshToken).not.toBe(first.oauth2?.refreshToken);
    expect((await fetchOwnToken(ownToken(), undefined)).oauth2?.accessToken).toMatch(/./);
  });
});

it('takes a life of 0 for a token without an end', async () => {
  server.dialect = (fields) => tokenDialects['status 201']({ ...fields, expires_in: 0 });
  expect((await signedIn()).oauth2).not.toHaveProperty('expiresAt');
});

describe.each(Object.entries(refusalDialects))('a refusal with %s', (_name, { answer, says }) => {
  it('is an error that says why', async () => {
    server.dialect = () => answer;
    await expect(signedIn()).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining(says),
    });
  });
});

describe.each(Object.entries(busyDialects))('a server that is busy, with %s', (_name, answer) => {
  it('has refused nothing', async () => {
    const first = await signedIn();
    server.dialect = () => answer;
    await expect(refreshTokens(calendar(), first)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(signedIn()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a discovery document', () => {
  const discovered = (issuer?: string) => {
    const openIdConnectUrl = `${server.url}/.well-known/openid-configuration`;
    const scheme = { type: 'openIdConnect', openIdConnectUrl, scopes: ['calendar'] } as const;
    return { ...calendar(), authScheme: { ...scheme, ...(issuer !== undefined && { issuer }) } };
  };

  it.each(['/', '/application/', '/{tenantid}/v2.0'])(
    'may name another issuer of its host: %s',
    async (path) => {
      server.discovery = (document) => ({
        ...document,
        issuer: `${server.url}${path}`,
        authorization_response_iss_parameter_supported: false,
      });
      const signIn = await beginSignIn(discovered(), undefined);
      const address = new URL(await server.signIn(signIn.authUri ?? ''));
      const answer = (authResponseUri: string) =>
        ({ authType: 'oauth2', oauth2: { authResponseUri } }) as const;
      // The server of the test signs its answer with its own issuer.
      await expect(redeemCode(signIn, answer(address.href))).rejects.toThrow('"iss" (issuer)');
      address.searchParams.delete('iss');
      const { oauth2 } = await redeemCode(signIn, answer(address.href));
      expect(oauth2?.accessToken).toMatch(/./);
    },
  );

  it('of another host is taken only for the issuer of the scheme', async () => {
    const issuer = 'https://sts.example.com/tenant/';
    server.discovery = (document) => ({ ...document, issuer });
    await expect(beginSignIn(discovered(), undefined)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringMatching(
        /of the issuer https:\/\/sts\.example\.com\/tenant\/, and not of http:\/\/127\.0\.0\.1:\d+; set issuer: 'https:\/\/sts/,
      ),
    });
    expect((await beginSignIn(discovered('https://sts.example.com/tenant'), undefined)).authUri).toMatch(/./);
  });
});

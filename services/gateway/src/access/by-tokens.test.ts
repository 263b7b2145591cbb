import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { byTokens, type TokenOptions } from './by-tokens.ts';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

const issuer = 'https://issuer.example/';
const audience = 'mesh';
let first: Pair;
let second: Pair;
beforeAll(async () => {
  [first, second] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
});

/** An issuer with public keys on this machine. */
interface Issuer {
  url: string;
  keys: JWK[];
  requests: number;
  isAway: boolean;
}

let close: (() => void) | undefined;
afterEach(() => close?.());

async function startIssuer(keys: JWK[]): Promise<Issuer> {
  const issued: Issuer = { url: '', keys, requests: 0, isAway: false };
  const server = createServer((_request, response) => {
    issued.requests += 1;
    if (issued.isAway) response.writeHead(503).end();
    else response.end(JSON.stringify({ keys: issued.keys }));
  }).listen(0, '127.0.0.1');
  close = () => server.close();
  await once(server, 'listening');
  issued.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  return issued;
}

const jwk = async ({ publicKey }: Pair, kid: string): Promise<JWK> => ({
  ...(await exportJWK(publicKey)),
  ...{ kid, alg: 'RS256', use: 'sig' },
});

interface TokenParts {
  claims?: Record<string, unknown>;
  pair?: Pair;
  kid?: string;
}

/** Makes a token that is valid unless its parts say otherwise. */
function tokenOf({ claims = {}, pair = first, kid = 'one' }: TokenParts = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ iss: issuer, aud: audience, sub: 'ann', exp: now + 60, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(pair.privateKey);
}

const request = (token: string) =>
  ({ headers: { authorization: `Bearer ${token}` } }) as unknown as FastifyRequest;

function reader(jwksUrl: string, options: Partial<TokenOptions> = {}) {
  const way = byTokens({
    ...{ issuer, audience, jwksUrl, algorithms: ['RS256'], userClaim: 'sub', rolesClaim: 'roles' },
    ...{ defaultRoles: ['user'], cooldownMs: 0 },
    ...options,
  });
  return (token: string) => way.authenticate(request(token));
}

async function startReader(options: Partial<TokenOptions> = {}) {
  const issued = await startIssuer([await jwk(first, 'one')]);
  return { issued, read: reader(issued.url, options) };
}

describe('a token of the issuer', () => {
  it('names the user and the roles', async () => {
    const { read } = await startReader();
    const token = await tokenOf({ claims: { roles: ['shop:operator'] } });
    expect(await read(token)).toEqual({ via: 'oidc', user: 'ann', roles: ['shop:operator', 'user'] });
    expect(await read(await tokenOf({ claims: { roles: 'clerk manager' } }))).toMatchObject({
      roles: ['clerk', 'manager', 'user'],
    });
  });

  it('names them in nested claims, and in claims with dots in their names', async () => {
    const { issued, read } = await startReader({ userClaim: 'person.login', rolesClaim: 'access.roles' });
    const claims = { person: { login: 'eve' }, access: { roles: ['manager'] } };
    expect(await read(await tokenOf({ claims }))).toMatchObject({ user: 'eve', roles: ['manager', 'user'] });
    const url = 'https://shop.example/roles';
    const other = reader(issued.url, { rolesClaim: url });
    expect(await other(await tokenOf({ claims: { [url]: ['clerk'] } }))).toMatchObject({
      roles: ['clerk', 'user'],
    });
  });

  it('is left to other ways when it is an API key, or absent', async () => {
    const { issued, read } = await startReader();
    expect(await read('amk_something')).toBeUndefined();
    const way = byTokens({
      ...{ issuer, audience, jwksUrl: issued.url, algorithms: ['RS256'] },
      ...claimNames,
    });
    expect(await way.authenticate({ headers: {} } as unknown as FastifyRequest)).toBeUndefined();
    expect(issued.requests).toBe(0);
  });
});

const claimNames = { userClaim: 'sub', rolesClaim: 'roles', defaultRoles: [], cooldownMs: 0 };
const inSeconds = (s: number) => Math.floor(Date.now() / 1_000) + s;

describe('a token is refused', () => {
  it.each([
    ['of another issuer', { claims: { iss: 'https://evil.example/' } }, /iss/],
    ['for another audience', { claims: { aud: 'other' } }, /aud/],
    ['without an audience', { claims: { aud: undefined } }, /aud/],
    ['that has expired', { claims: { exp: inSeconds(-60) } }, /exp/],
    ['without an end', { claims: { exp: undefined } }, /exp/],
    ['that is not valid yet', { claims: { nbf: inSeconds(60) } }, /nbf/],
    ['without a user', { claims: { sub: undefined } }, /claim sub/],
    ['with a user that is no text', { claims: { sub: 7 } }, /sub/],
    ['with a user that is too long', { claims: { sub: 'x'.repeat(10_000) } }, /claim sub/],
    ['with roles that are no list', { claims: { roles: { admin: true } } }, /claim roles/],
    ['of a key that is not known', { kid: 'three' }, /no applicable key/],
  ])('%s', async (_what, parts, words) => {
    const { read } = await startReader();
    const token = await tokenOf(parts);
    await expect(read(token)).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringMatching(words),
    });
  });

  it('that is signed with another key under the known id, or was changed', async () => {
    const { read } = await startReader();
    await expect(read(await tokenOf({ pair: second }))).rejects.toMatchObject({ code: 'unauthenticated' });
    const [head, , signature] = (await tokenOf()).split('.');
    const claims = { iss: issuer, aud: audience, sub: 'eve', exp: inSeconds(60), roles: ['admin'] };
    const forged = `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
    await expect(read(forged)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('that is not signed, or signed by the public key as a shared secret', async () => {
    const { read } = await startReader();
    const claims = { iss: issuer, aud: audience, sub: 'ann', exp: inSeconds(60) };
    await expect(read(new UnsecuredJWT(claims).encode())).rejects.toMatchObject({ code: 'unauthenticated' });
    for (const secret of [await exportSPKI(first.publicKey), JSON.stringify(await jwk(first, 'one'))]) {
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'one' })
        .sign(new TextEncoder().encode(secret));
      await expect(read(token)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  it('that is signed by an algorithm that is not configured', async () => {
    const { read } = await startReader({ algorithms: ['ES256'] });
    await expect(read(await tokenOf())).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it.each(['', 'a', 'a.b.c', '....', '%%%'])('that is no token: %j', async (text) => {
    const { read } = await startReader();
    if (text === '') expect(await read(text)).toBeUndefined();
    else await expect(read(text)).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('the public keys', () => {
  it('are fetched once for many requests', async () => {
    const { issued, read } = await startReader();
    const token = await tokenOf();
    await Promise.all(Array.from({ length: 50 }, () => read(token)));
    expect(issued.requests).toBe(1);
  });

  it('change while requests go on', async () => {
    const { issued, read } = await startReader();
    const [old, fresh] = [await tokenOf(), await tokenOf({ pair: second, kid: 'two' })];
    let isOver = false;
    const traffic = (async () => {
      let count = 0;
      for (; !isOver; count += 1) expect(await read(old)).toMatchObject({ user: 'ann' });
      return count;
    })();
    await expect(read(fresh)).rejects.toMatchObject({ code: 'unauthenticated' });
    issued.keys = [...issued.keys, await jwk(second, 'two')];
    for (let count = 0; count < 20; count += 1) expect(await read(fresh)).toMatchObject({ user: 'ann' });
    isOver = true;
    expect(await traffic).toBeGreaterThan(0);
    // The issuer removes the old key: its tokens end as soon as the keys are fetched again.
    issued.keys = issued.keys.slice(1);
    await expect(read(await tokenOf({ kid: 'three' }))).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(read(old)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await read(fresh)).toMatchObject({ user: 'ann' });
  });

  it('are not fetched for each token with an unknown key', async () => {
    const { issued, read } = await startReader({ cooldownMs: 60_000 });
    await read(await tokenOf());
    for (const kid of ['a', 'b', 'c'])
      await expect(read(await tokenOf({ kid }))).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(issued.requests).toBe(1);
  });

  it('may be away once they are known; before, requests are answered 503', async () => {
    const { issued, read } = await startReader();
    const token = await tokenOf();
    issued.isAway = true;
    await expect(read(token)).rejects.toMatchObject({ code: 'unavailable' });
    issued.isAway = false;
    expect(await read(token)).toMatchObject({ user: 'ann' });
    issued.isAway = true;
    expect(await read(token)).toMatchObject({ user: 'ann' });
    const nobody = reader('http://127.0.0.1:1/keys');
    await expect(nobody(token)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

const issuer = 'https://issuer.example/';
const audience = 'mesh';
const app = 'stock_app';

let pairs: { first: Pair; second: Pair; foreign: Pair };
/** The issuer, with the public keys that it gives out. */
let server: Server;
let published: JWK[] = [];
let isAway = false;
let mesh: LocalMesh;
let urls: string[];

beforeAll(async () => {
  const [first, second, foreign] = await Promise.all(
    ['RS256', 'RS256', 'RS256'].map((algorithm) => generateKeyPair(algorithm)),
  );
  if (!first || !second || !foreign) throw new Error('there are no keys');
  pairs = { first, second, foreign };
  published = [await jwkOf(first, 'one')];
  server = createServer((_request, response) => {
    if (isAway) response.writeHead(503).end();
    else response.end(JSON.stringify({ keys: published }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const settings = {
    MESH_HTTP_AUTH: 'oidc',
    MESH_OIDC_ISSUER: issuer,
    MESH_OIDC_AUDIENCE: audience,
    MESH_OIDC_JWKS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    MESH_OIDC_COOLDOWN_MS: '0',
  };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
  urls = [mesh.gatewayUrl, (await mesh.start('gateway')).address ?? ''];
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  server?.close();
});

async function jwkOf({ publicKey }: Pair, kid: string): Promise<JWK> {
  return { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' };
}

const inSeconds = (s: number) => Math.floor(Date.now() / 1_000) + s;
const claimsOf = (more: object = {}) => ({
  ...{ iss: issuer, aud: audience, sub: 'ann', exp: inSeconds(60) },
  ...more,
});

function tokenOf(more: object = {}, { pair = pairs.first, kid = 'one' } = {}): Promise<string> {
  return new SignJWT(claimsOf(more)).setProtectedHeader({ alg: 'RS256', kid }).sign(pair.privateKey);
}

/** Signs by the public key of the issuer as if it were a shared secret. */
function confused(secret: string): Promise<string> {
  const header = { alg: 'HS256', kid: 'one' };
  return new SignJWT(claimsOf()).setProtectedHeader(header).sign(new TextEncoder().encode(secret));
}

async function send(token: string | undefined, method: string, path: string, body?: unknown, at = 0) {
  const answer = await fetch(`${urls[at]}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const sessionsOf = (user: string) => `/apps/${app}/users/${user}/sessions`;
const runOf = (user: string, sessionId: string) => ({
  ...{ appName: app, userId: user, sessionId },
  newMessage: { parts: [{ text: 'What is the price of GOOG?' }] },
});

it('a token acts for its own user alone, unless it names a role', async () => {
  const ann = await tokenOf();
  expect((await send(ann, 'POST', `${sessionsOf('ann')}/s1`, {})).status).toBe(200);
  const answered = await send(ann, 'POST', '/run', runOf('ann', 's1'));
  expect([answered.status, answered.text]).toEqual([200, expect.stringContaining('GOOG')]);
  const eve = await tokenOf({ sub: 'eve' });
  expect((await send(eve, 'GET', `${sessionsOf('ann')}/s1`)).status).toBe(403);
  expect((await send(eve, 'POST', '/run', runOf('ann', 's1'))).status).toBe(403);
  const ofOther = await tokenOf({ sub: 'eve', roles: ['bank_app:operator'] });
  expect((await send(ofOther, 'GET', `${sessionsOf('ann')}/s1`)).status).toBe(403);
  const operator = await tokenOf({ sub: 'eve', roles: [`${app}:operator`] });
  expect((await send(operator, 'GET', `${sessionsOf('ann')}/s1`)).status).toBe(200);
});

const refused: [what: string, token: () => Promise<string> | string][] = [
  ['has expired', () => tokenOf({ exp: inSeconds(-60) })],
  ['has no end', () => tokenOf({ exp: undefined })],
  ['is not valid yet', () => tokenOf({ nbf: inSeconds(60) })],
  ['is of another issuer', () => tokenOf({ iss: 'https://evil.example/' })],
  ['is for another audience', () => tokenOf({ aud: 'other' })],
  ['is signed by a foreign key under a known id', () => tokenOf({}, { pair: pairs.foreign })],
  ['is signed by a foreign key under its own id', () => tokenOf({}, { pair: pairs.foreign, kid: 'three' })],
  ['is not signed', () => new UnsecuredJWT(claimsOf()).encode()],
  [
    'is signed by the public key in PEM as a secret',
    async () => confused(await exportSPKI(pairs.first.publicKey)),
  ],
  ['is signed by the public key in JSON as a secret', () => confused(JSON.stringify(published[0]))],
  [
    'was changed',
    async () => {
      const [head, , signature] = (await tokenOf()).split('.');
      const claims = Buffer.from(JSON.stringify(claimsOf({ roles: ['admin'] }))).toString('base64url');
      return `${head}.${claims}.${signature}`;
    },
  ],
  ['is none', () => 'a.b.c'],
];

describe('every route that needs a caller answers 401 to a token that', () => {
  it.each(refused)('%s', async (_what, token) => {
    const given = await token();
    for (const [method, path, body] of [
      ['GET', '/list-apps'],
      ['GET', `${sessionsOf('ann')}/s1`],
      ['DELETE', `${sessionsOf('ann')}/s1`],
      ['POST', '/run', runOf('ann', 's1')],
      ['GET', '/mesh/runs'],
    ] as const) {
      const answer = await send(given, method, path, body);
      expect([path, answer.status, JSON.parse(answer.text).code]).toEqual([path, 401, 'unauthenticated']);
      expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
      expect(answer.text).not.toContain(given);
    }
  });
});

describe('the keys of the issuer', () => {
  it('change while both gateways serve: the new key counts at once, and the old one no longer', async () => {
    const old = await tokenOf();
    const fresh = await tokenOf({}, { pair: pairs.second, kid: 'two' });
    const statuses = (token: string) =>
      Promise.all(urls.map(async (_, at) => (await send(token, 'GET', '/list-apps', undefined, at)).status));
    expect([await statuses(old), await statuses(fresh)]).toEqual([
      [200, 200],
      [401, 401],
    ]);
    published = [...published, await jwkOf(pairs.second, 'two')];
    expect([await statuses(old), await statuses(fresh)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    published = published.slice(1);
    // A token that names an unknown key makes a gateway fetch the keys again.
    const unknown = await tokenOf({}, { pair: pairs.foreign, kid: 'four' });
    expect(await statuses(unknown)).toEqual([401, 401]);
    expect([await statuses(old), await statuses(fresh)]).toEqual([
      [401, 401],
      [200, 200],
    ]);
  });

  it('are away: a gateway that has none says so with 503, and one that has them goes on', async () => {
    const fresh = await tokenOf({}, { pair: pairs.second, kid: 'two' });
    isAway = true;
    onTestFinished(() => {
      isAway = false;
    });
    const started = await mesh.start('gateway');
    urls.push(started.address ?? '');
    const answer = await send(fresh, 'GET', '/list-apps', undefined, 2);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([503, 'unavailable']);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect((await send(fresh, 'GET', '/list-apps')).status).toBe(200);
    isAway = false;
    expect((await send(fresh, 'GET', '/list-apps', undefined, 2)).status).toBe(200);
    urls.pop();
    await started.stop();
  });
});

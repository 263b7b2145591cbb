import { createLogger, readConfig } from '@agentmesh/service';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { gatewayConfig } from '../context/config.ts';
import { openAuthenticators } from './open-authenticators.ts';

const lines: string[] = [];
const destination = { write: (line: string) => void lines.push(line) };
const log = createLogger({ service: 'gateway', replica: 'gateway-1', destination });
const keys = { find: async () => undefined, noteUse: async () => {} };
const apiKeys = { ...keys, create: async () => '', list: async () => [], revoke: async () => false };

const open = (env: Record<string, string>, parts = { apiKeys, log }) =>
  openAuthenticators(readConfig(gatewayConfig, env), parts);
const request = (headers: Record<string, string | string[]>) => ({ headers }) as unknown as FastifyRequest;

const oidc = {
  MESH_OIDC_ISSUER: 'https://issuer.example/',
  MESH_OIDC_AUDIENCE: 'mesh',
  MESH_OIDC_JWKS_URL: 'https://issuer.example/keys',
};

describe('a gateway without authentication', () => {
  it.each(['127.0.0.1', '127.0.0.2', 'localhost', '::1'])('starts on %s, and says it once', (host) => {
    lines.length = 0;
    expect(open({ MESH_HTTP_HOST: host }).map(({ way }) => way)).toEqual(['none']);
    expect(lines.filter((line) => line.includes('requests are not authenticated'))).toHaveLength(1);
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', 'mesh.example'])('does not start on %s', (host) => {
    expect(() => open({ MESH_HTTP_HOST: host })).toThrow(/set MESH_HTTP_AUTH to keys, oidc or proxy/);
    expect(() => open({ MESH_HTTP_HOST: host, MESH_HTTP_AUTH: 'keys' })).not.toThrow();
  });
});

describe('the ways of authentication', () => {
  it('are those that are named, in their order', () => {
    const env = { MESH_HTTP_AUTH: 'oidc, keys,proxy', MESH_HTTP_PERSON_HEADER: 'X-User', ...oidc };
    expect(open(env).map(({ way }) => way)).toEqual(['proxy', 'keys', 'oidc']);
  });

  it.each([
    ['none beside another way', { MESH_HTTP_AUTH: 'none,keys' }, /none and another way/],
    ['an unknown way', { MESH_HTTP_AUTH: 'keys,basic' }, /list of none, proxy, keys, oidc/],
    ['an empty list', { MESH_HTTP_AUTH: ' , ' }, /list of none/],
    ['a proxy without a header', { MESH_HTTP_AUTH: 'proxy' }, /needs MESH_HTTP_PERSON_HEADER/],
    ['headers without the proxy', { MESH_HTTP_PERSON_HEADER: 'X-User' }, /need MESH_HTTP_AUTH=proxy/],
    [
      'roles without the proxy',
      { MESH_HTTP_AUTH: 'keys', MESH_HTTP_ROLES_HEADER: 'X' },
      /MESH_HTTP_AUTH=proxy/,
    ],
    ['tokens without an issuer', { MESH_HTTP_AUTH: 'oidc' }, /MESH_OIDC_ISSUER/],
    ['tokens without an audience', { MESH_HTTP_AUTH: 'oidc', ...oidc, MESH_OIDC_AUDIENCE: '' }, /AUDIENCE/],
    ['an issuer without tokens', oidc, /need MESH_HTTP_AUTH=oidc/],
    [
      'a symmetric algorithm',
      { MESH_HTTP_AUTH: 'oidc', ...oidc, MESH_OIDC_ALGORITHMS: 'HS256' },
      /ALGORITHMS/,
    ],
    ['no algorithm', { MESH_HTTP_AUTH: 'oidc', ...oidc, MESH_OIDC_ALGORITHMS: 'RS256,none' }, /ALGORITHMS/],
    ['keys without TLS', { ...oidc, MESH_OIDC_JWKS_URL: 'http://issuer.example/keys' }, /an https address/],
  ])('refuse %s', (_what, env, words) => {
    expect(() => open(env)).toThrow(words);
  });

  it('refuse API keys where nothing keeps them', () => {
    expect(() => openAuthenticators(readConfig(gatewayConfig, { MESH_HTTP_AUTH: 'keys' }), { log })).toThrow(
      /no Redis/,
    );
  });
});

describe('a proxy', () => {
  const env = {
    MESH_HTTP_AUTH: 'proxy',
    MESH_HTTP_PERSON_HEADER: 'X-User',
    MESH_HTTP_ROLES_HEADER: 'X-Roles',
  };
  const read = (headers: Record<string, string | string[]>, more: Record<string, string> = {}) =>
    open({ ...env, ...more })[0]?.authenticate(request(headers));

  it('names the person and the roles', async () => {
    expect(await read({ 'x-user': 'eve', 'x-roles': ' manager , ,clerk' })).toEqual({
      ...{ via: 'proxy', user: 'eve', roles: ['manager', 'clerk', 'user'] },
    });
    expect(await read({ 'x-user': 'eve' }, { MESH_HTTP_DEFAULT_ROLES: '-' })).toMatchObject({ roles: [] });
  });

  it('names nobody by an empty header, and must not name two', async () => {
    expect(await read({})).toBeUndefined();
    expect(await read({ 'x-user': ' ' })).toBeUndefined();
    for (const two of ['eve, ann', ['eve', 'ann']])
      await expect(read({ 'x-user': two })).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

import { subjects } from '@agentmesh/protocol';
import { createLogger, readConfig } from '@agentmesh/service';
import { describe, expect, it } from 'vitest';
import { byNone } from '../access/by-none.ts';
import { byProxy } from '../access/by-proxy.ts';
import { buildServer, type ServerOptions } from '../build-server.ts';
import { gatewayConfig } from '../context/config.ts';
import type { GatewayContext } from '../context/context.ts';

const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'silent' });
const bus = { service: 'gateway', replica: 'gateway-1', enqueue: async () => {} };
const mesh = { log, bus, subjects: subjects() } as unknown as GatewayContext['mesh'];
const config = { runTimeoutMs: 1_000, unreadMs: 1_000, whenAbsent: 'reject', uploadLimit: 1_000 } as const;

function gateway(options: Partial<ServerOptions> = {}) {
  return buildServer(
    { mesh, config, log, stopping: new AbortController().signal },
    {
      ...{ bodyLimit: 1_000, requestTimeoutMs: 1_000, httpHost: '127.0.0.1', allowedHosts: undefined },
      authenticators: [byNone],
      ...options,
    },
  );
}

const chat = 'https://chat.example';
const protective = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
};

it('every answer has the headers that protect people with browsers', async () => {
  for (const url of ['/version', '/nowhere', '/run'])
    expect((await gateway().inject({ url })).headers).toMatchObject(protective);
});

describe('pages of other origins', () => {
  const authenticators = [byProxy({ personHeader: 'x-user', defaultRoles: ['user'] })];

  it('may not read answers by default', async () => {
    const { headers } = await gateway().inject({ url: '/version', headers: { origin: chat } });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    const asked = { origin: chat, 'access-control-request-method': 'POST' };
    expect((await gateway().inject({ method: 'OPTIONS', url: '/run', headers: asked })).statusCode).toBe(405);
  });

  it('may use a gateway that names them, without credentials of the browser', async () => {
    const server = gateway({ corsOrigins: [chat], authenticators });
    const asked = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const allowed = await server.inject({
      method: 'OPTIONS',
      url: '/run_sse',
      headers: { origin: chat, ...asked },
    });
    expect(allowed.statusCode).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': chat,
      'access-control-allow-headers': expect.stringContaining('authorization'),
      'access-control-allow-methods': expect.stringContaining('POST'),
    });
    expect(allowed.headers).not.toHaveProperty('access-control-allow-credentials');
    // A page can read why it is refused.
    const refused = await server.inject({ method: 'POST', url: '/run', headers: { origin: chat } });
    expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([401, chat]);
    expect(refused.headers['access-control-expose-headers']).toContain('x-invocation-id');
    const other = await server.inject({ url: '/version', headers: { origin: 'https://evil.example' } });
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it.each(['chat.example', 'https://chat.example/', 'https://a.example, b', ''])(
    'are not named by %j',
    (text) => {
      const read = () => readConfig(gatewayConfig, { MESH_HTTP_CORS_ORIGINS: text }).corsOrigins;
      if (text === '') expect(read()).toBeUndefined();
      else expect(read).toThrow(/MESH_HTTP_CORS_ORIGINS must be a list of origins/);
    },
  );
});

describe('a gateway that authenticates nobody', () => {
  const url = '/apps/shop/users/ann/sessions/s/invocations/e-1/cancel';
  const send = async (origin: string | undefined, options: Partial<ServerOptions> = {}) =>
    (await gateway(options).inject({ method: 'POST', url, headers: origin === undefined ? {} : { origin } }))
      .statusCode;

  it('changes nothing for pages of other sites', async () => {
    for (const origin of [chat, 'null', 'http://localhost.evil.example', 'http://10.0.0.1:8000'])
      expect([origin, await send(origin)]).toEqual([origin, 403]);
  });

  it('serves programs, pages of this machine, and pages of allowed origins', async () => {
    for (const origin of [undefined, 'http://localhost:3000', 'http://127.0.0.1:8000', 'http://[::1]:8000'])
      expect([origin, await send(origin)]).toEqual([origin, 500]);
    expect(await send(chat, { corsOrigins: [chat] })).toBe(500);
    const byToken = byProxy({ personHeader: 'x-user', defaultRoles: ['user'] });
    expect(await send(chat, { authenticators: [byToken] })).toBe(401);
  });
});

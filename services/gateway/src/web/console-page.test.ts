import { gzipSync } from 'node:zlib';
import { createLogger } from '@agentmesh/service';
import { expect, it } from 'vitest';
import { byNone } from '../access/by-none.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';

/** Makes a gateway without a mesh: the page needs none. */
function gateway(config: Partial<GatewayContext['config']>) {
  const destination = { write: () => {} };
  const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'error', destination });
  const context = { config, log, stopping: new AbortController().signal } as unknown as GatewayContext;
  return buildServer(context, {
    bodyLimit: 1_000,
    requestTimeoutMs: 1_000,
    httpHost: '127.0.0.1',
    allowedHosts: undefined,
    authenticators: [byNone],
  });
}

const get = (url: string, config: Partial<GatewayContext['config']> = {}) =>
  gateway(config).inject({ method: 'GET', url });

it('serves the console with a policy that allows this gateway alone', async () => {
  const page = await get('/console');
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.body).toContain('/console/console.js');
  const policy = String(page.headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  for (const [name, type] of [
    ['console.js', 'text/javascript'],
    ['console.css', 'text/css'],
  ])
    expect((await get(`/console/${name}`)).headers['content-type']).toBe(`${type}; charset=utf-8`);
});

it('takes less than 300 kB on the way to the browser', async () => {
  const files = await Promise.all(['', '/console.js', '/console.css'].map((path) => get(`/console${path}`)));
  const sizes = files.map(({ rawPayload }) => gzipSync(rawPayload).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
});

it('serves no other file', async () => {
  for (const file of ['..%2Fpackage.json', 'none.js', '%2e%2e%2fsrc%2fmain.ts'])
    expect((await get(`/console/${file}`)).statusCode, file).toBe(404);
});

it('is off when it is turned off', async () => {
  const answer = await get('/console', { console: 'off' });
  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ error: expect.stringContaining('MESH_CONSOLE=off') });
});

import { gunzipSync, gzipSync } from 'node:zlib';
import { subjects } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { describe, expect, it } from 'vitest';
import { byNone } from '../access/by-none.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';

const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'silent' });
const bus = { service: 'gateway', replica: 'gateway-1', enqueue: async () => {} };
const mesh = { log, bus, subjects: subjects() } as unknown as GatewayContext['mesh'];
const config = { runTimeoutMs: 1_000, unreadMs: 1_000, whenAbsent: 'reject', uploadLimit: 1_000 } as const;

function gateway() {
  return buildServer(
    { mesh, config, log, stopping: new AbortController().signal },
    {
      ...{ bodyLimit: 1_000, requestTimeoutMs: 1_000, httpHost: '127.0.0.1', allowedHosts: undefined },
      authenticators: [byNone],
    },
  );
}

const get = (url: string, accepted: string) =>
  gateway().inject({ url, headers: { 'accept-encoding': accepted } });

describe('the answer to a client that accepts gzip', () => {
  it.each(['/openapi.json', '/docs/swagger-ui.css'])(
    'is compressed for %s, and much smaller',
    async (url) => {
      const plain = await get(url, 'identity');
      expect(plain.headers).not.toHaveProperty('content-encoding');
      const packed = await get(url, 'br, gzip');
      expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(packed.rawPayload.length * 4).toBeLessThan(plain.rawPayload.length);
      expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
    },
  );

  it('is as it is when it is small', async () => {
    const { headers, statusCode } = await get('/version', 'gzip');
    expect([statusCode, headers['content-encoding']]).toEqual([200, undefined]);
  });
});

it('a compressed body is refused', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const payload = gzipSync('{}');
  const { statusCode, body } = await gateway().inject({ method: 'POST', url: '/run', headers, payload });
  expect([statusCode, body]).toEqual([415, expect.stringContaining('content-encoding')]);
});

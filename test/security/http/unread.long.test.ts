import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { restClient } from '../../rest-client.ts';
import { watchMemory } from './gateway-memory.fixture.ts';

const app = 'stock_app';
const size = 9_000_000;
const unreadMs = 20_000;
const clients = 40;

let mesh: LocalMesh;
let path: string;
/** A session whose compressed form is large too. */
let dense: string;
beforeAll(async () => {
  vi.stubEnv('MESH_UNREAD_MS', String(unreadMs));
  vi.stubEnv('MESH_HTTP_UNREAD_BYTES', '100000000');
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
  const session = await restClient(mesh.gatewayUrl).createSession(app, 'ann', { big: 'x'.repeat(size) });
  path = `/apps/${app}/users/ann/sessions/${session}`;
  const noise = randomBytes(0.75 * size).toString('base64');
  dense = `/apps/${app}/users/ann/sessions/${await restClient(mesh.gatewayUrl).createSession(app, 'ann', { noise })}`;
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
});

/** Asks for an answer, reads the first bytes of it, and nothing more. */
async function askAndWait(
  url: string,
  headers = '',
): Promise<{ socket: Socket; status: string; start: string }> {
  const { port } = new URL(mesh.gatewayUrl);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  // The gateway cuts the connection, so an error is expected.
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET ${url} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return { socket, status: first.toString('latin1', 9, 12), start: first.toString('latin1') };
}

describe('clients that do not read their answers', () => {
  it.each([
    { kind: 'answers', headers: '', url: () => path },
    { kind: 'compressed answers', headers: 'accept-encoding: gzip\r\n', url: () => dense },
  ])(
    'leave the gateway below 512 MiB, and are let go; others are told to come back, and are served then: $kind',
    async ({ headers, url }) => {
      const most = watchMemory(mesh.gateway.pid);
      const ask = (count: number) =>
        Promise.all(Array.from({ length: count }, () => askAndWait(url(), headers)));
      const room = Math.floor(100_000_000 / size);
      const first = await ask(room);
      const [others, refused] = await Promise.all([ask(clients - room), fetch(`${mesh.gatewayUrl}${url()}`)]);
      const stuck = [...first, ...others];
      expect(stuck[0]?.start.includes('content-encoding: gzip')).toBe(headers !== '');
      const statuses = Map.groupBy(stuck, ({ status }) => status);
      expect([...statuses.keys()].sort()).toEqual(['200', '429']);
      expect(statuses.get('200')?.length).toBe(room);

      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
      expect(await refused.json()).toMatchObject({
        ...{ code: 'resource_exhausted', error: expect.stringContaining('bytes of others to read') },
      });
      // Small answers are served all the time.
      expect((await fetch(`${mesh.gatewayUrl}/list-apps`)).status).toBe(200);

      const served = await until(
        async () => {
          const response = await fetch(`${mesh.gatewayUrl}${url()}`);
          const text = await response.text();
          return response.status === 200 && text.length > size;
        },
        { what: 'the clients to be let go', timeoutMs: 4 * unreadMs, intervalMs: 200 },
      );
      expect(served).toBe(true);
      expect(most()).toBeLessThan(512);
      for (const { socket } of stuck) socket.destroy();
    },
  );

  it('are let go in the middle of a download too', async () => {
    const url = `${path}/artifacts/big/content`;
    const saved = await fetch(`${mesh.gatewayUrl}${url}`, {
      method: 'PUT',
      body: new Uint8Array(30_000_000),
    });
    expect(saved.status).toBe(200);
    const { socket, status } = await askAndWait(url);
    expect(status).toBe('200');
    const closed = once(socket, 'close');
    await new Promise((resolve) => setTimeout(resolve, unreadMs + 2_000));
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await closed;
    expect(received).toBeLessThan(30_000_000);
    const whole = await fetch(`${mesh.gatewayUrl}${url}`);
    expect((await whole.arrayBuffer()).byteLength).toBe(30_000_000);
  });
});

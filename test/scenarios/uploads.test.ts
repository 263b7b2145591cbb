import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restClient } from '../rest-client.ts';

let mesh: LocalMesh;
let url: string;
beforeAll(async () => {
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
  const { address } = await mesh.start('gateway', { MESH_UPLOAD_LIMIT: '1000000' });
  url = address ?? '';
}, 60_000);
afterAll(async () => await mesh?.[Symbol.asyncDispose]());

/** Starts a session. Returns its address. */
async function startSession(): Promise<string> {
  const id = await restClient(url).createSession('stock_app', 'u1');
  return `${url}/apps/stock_app/users/u1/sessions/${id}`;
}

describe('an upload', () => {
  const put = (url: string, size: number, headers: Record<string, string> = {}) => {
    const chunk = new Uint8Array(100_000);
    const body = ReadableStream.from(Array.from({ length: size / chunk.length }, () => chunk));
    const init: RequestInit & { duplex: 'half' } = { method: 'PUT', headers, body, duplex: 'half' };
    return fetch(url, init);
  };

  it('is accepted up to the limit, and refused with an error above it', async () => {
    const path = await startSession();
    const file = `${path}/artifacts/f/content`;
    expect((await put(file, 1_000_000)).status).toBe(200);
    const refused = await put(file, 20_000_000);
    expect(refused.status).toBe(400);
    const limit = { code: 'invalid_argument', error: expect.stringContaining('MESH_UPLOAD_LIMIT') };
    expect(await refused.json()).toMatchObject(limit);
    const known = await fetch(file, { method: 'PUT', body: new Uint8Array(1_100_000) });
    expect([known.status, await known.json()]).toMatchObject([400, limit]);
    const versions = await fetch(`${path}/artifacts/f/versions`);
    expect(await versions.json()).toEqual([0]);
  });

  it.each(['content-length: 3000000', 'transfer-encoding: chunked'])(
    'that is refused leaves its connection to the next request (%s)',
    async (size) => {
      const { pathname, host, hostname, port } = new URL(`${await startSession()}/artifacts/f/content`);
      const socket = connect(Number(port), hostname);
      socket.write(`PUT ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${size}\r\n\r\n`);
      const isChunked = size.endsWith('chunked');
      for (let sent = 0; sent < 3_000_000; sent += 100_000)
        socket.write(isChunked ? `186a0\r\n${'x'.repeat(100_000)}\r\n` : 'x'.repeat(100_000));
      if (isChunked) socket.write('0\r\n\r\n');
      socket.write(`GET /version HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      const answers = await text(socket);
      expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
    },
  );

  it('leaves nothing when its session is gone at its end', async () => {
    const session = await startSession();
    const halfSent = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<void>();
    async function* bytes() {
      yield new Uint8Array(100_000);
      halfSent.resolve();
      await rest.promise;
      yield new Uint8Array(100_000);
    }
    const init: RequestInit & { duplex: 'half' } = {
      ...{ method: 'PUT', duplex: 'half', body: ReadableStream.from(bytes()) },
    };
    const uploading = fetch(`${session}/artifacts/f/content`, init);
    await halfSent.promise;
    expect((await fetch(session, { method: 'DELETE' })).status).toBe(200);
    rest.resolve();
    const refused = await uploading;
    expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'not_found' }]);
    expect((await fetch(session, { method: 'POST' })).status).toBe(200);
    expect(await (await fetch(`${session}/artifacts`)).json()).toEqual([]);
  });

  it('without bytes makes an empty file, and an upload of a wrong type is refused', async () => {
    const path = await startSession();
    const file = `${path}/artifacts/f/content`;
    const empty = await fetch(file, { method: 'PUT' });
    expect(await empty.json()).toMatchObject({ version: 0, size: 0 });
    expect((await (await fetch(file)).arrayBuffer()).byteLength).toBe(0);
    const refused = await put(file, 100_000, { 'content-type': 'nonsense' });
    const error = { code: 'invalid_argument', error: expect.stringContaining('MIME type') };
    expect([refused.status, await refused.json()]).toMatchObject([400, error]);
  });
});

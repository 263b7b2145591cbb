import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type RequestOptions, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { createLogger } from '@agentmesh/service';
import { makeCertificate } from '@agentmesh/testing';
import { fastify } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { byNone } from '../access/by-none.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';
import { orderlyClose } from './close-server.ts';
import { readCertificate } from './tls.ts';

function certificateFiles() {
  const dir = mkdtempSync(join(tmpdir(), 'agentmesh-gateway-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const { certFile: httpCertFile, keyFile: httpKeyFile } = makeCertificate(dir);
  return { dir, httpCertFile, httpKeyFile };
}

/** Starts a gateway with HTTPS that answers without a mesh. */
async function gateway() {
  const certificate = readCertificate(certificateFiles());
  const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'silent' });
  const config = {
    runTimeoutMs: 1_000,
    unreadMs: 1_000,
    whenAbsent: 'reject',
    uploadLimit: 1_000,
  } as const;
  const mesh = {} as unknown as GatewayContext['mesh'];
  const server = buildServer(
    { mesh, config, log, stopping: new AbortController().signal },
    {
      bodyLimit: 1_000,
      requestTimeoutMs: 1_000,
      httpHost: '127.0.0.1',
      allowedHosts: undefined,
      authenticators: [byNone],
      certificate,
    },
  );
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  server.get('/slow', async () => {
    asked.resolve();
    await go.promise;
    return 'slow answer';
  });
  const close = orderlyClose(server, new AbortController().signal);
  await server.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => await close());
  const { port } = server.server.address() as AddressInfo;
  const get = async (path: string, options: RequestOptions = {}) => {
    const asking = request({ host: 'localhost', port, path, ca: certificate?.cert, ...options });
    asking.end();
    const [answer] = await once(asking, 'response');
    return { status: answer.statusCode, body: await text(answer) };
  };
  return { port, ca: certificate?.cert, get, close, asked: asked.promise, go: go.resolve };
}

it('the gateway answers over HTTPS to clients that trust its certificate', async () => {
  const { get, port } = await gateway();
  expect(await get('/nowhere')).toMatchObject({ status: 404, body: expect.stringContaining('GET /nowhere') });
  await expect(get('/nowhere', { ca: undefined })).rejects.toThrow(/self-signed/);
  const plain = connect(port, '127.0.0.1');
  plain.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  expect(await text(plain).catch(() => '')).not.toContain('200');
});

it('a request in hand over HTTPS gets its answer when the gateway stops', async () => {
  const { get, close, asked, go, port, ca } = await gateway();
  using agent = Object.assign(new Agent({ keepAlive: true }), {
    [Symbol.dispose]() {
      agent.destroy();
    },
  });
  const answer = get('/slow', { agent });
  await asked;
  const unused = connectTls({ host: 'localhost', port, ca });
  unused.on('error', () => {});
  await once(unused, 'secureConnect');
  const closing = close();
  // The gateway has looked for connections without work.
  await once(unused, 'close');
  go();
  expect(await answer).toEqual({ status: 200, body: 'slow answer' });
  await closing;
});

it('files that are no certificate with its key are refused', () => {
  const { dir, httpCertFile, httpKeyFile } = certificateFiles();
  const other = certificateFiles();
  const empty = join(dir, 'empty.pem');
  writeFileSync(empty, '');
  const none = undefined;
  expect(readCertificate({ httpCertFile: none, httpKeyFile: none })).toBeUndefined();
  const refusals: [string | undefined, string | undefined, RegExp][] = [
    [httpCertFile, none, /set both/],
    [none, httpKeyFile, /set both/],
    [join(dir, 'no.pem'), httpKeyFile, /cannot read .*no\.pem/],
    [httpCertFile, other.httpKeyFile, /cannot be used/],
    [empty, httpKeyFile, /cannot be used/],
  ];
  for (const [cert, key, words] of refusals)
    expect(() => readCertificate({ httpCertFile: cert, httpKeyFile: key })).toThrow(words);
});

it('a request whose body does not end holds up the close until it is given up', async () => {
  const giveUp = new AbortController();
  const server = fastify();
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (_request, body, done) => done(null, body));
  const asked = Promise.withResolvers<void>();
  server.put('/file', async ({ body }) => {
    asked.resolve();
    return await buffer(body as Readable);
  });
  const close = orderlyClose(server, giveUp.signal);
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('PUT /file HTTP/1.1\r\nhost: localhost\r\ncontent-length: 8\r\n\r\nhalf');
  await asked.promise;
  const order: string[] = [];
  const closed = close().then(() => order.push('closed'));
  await new Promise((resolve) => setTimeout(resolve, 200));
  order.push('given up');
  giveUp.abort();
  await closed;
  expect(order).toEqual(['given up', 'closed']);
});

import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createLogger } from '@agentmesh/service';
import { expect, it, onTestFinished } from 'vitest';
import { byProxy } from '../access/by-proxy.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';

const page = 'https://chat.example';
const bodyLimit = 1_048_576;

/** A gateway without a mesh. */
function gateway() {
  const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'silent' });
  const config = { runTimeoutMs: 1_000, unreadMs: 1_000, whenAbsent: 'reject', uploadLimit: 1_000 } as const;
  const mesh = {} as unknown as GatewayContext['mesh'];
  return buildServer(
    { mesh, config, log, stopping: new AbortController().signal },
    {
      ...{ bodyLimit, requestTimeoutMs: 60_000, httpHost: '127.0.0.1', allowedHosts: undefined },
      ...{
        corsOrigins: [page],
        authenticators: [byProxy({ personHeader: 'x-user', defaultRoles: ['user'] })],
      },
    },
  );
}

async function listen(): Promise<number> {
  const server = gateway();
  await server.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  return (server.server.address() as AddressInfo).port;
}

it.each([
  ['POST', '/nowhere', 404, undefined],
  ['PUT', '/run', 405, 'POST'],
  ['DELETE', '/list-apps', 405, 'GET, HEAD'],
] as const)('%s %s is refused with %i before its body is read', async (method, url, status, allow) => {
  const answer = await gateway().inject({
    ...{ method, url, payload: '{' },
    headers: { 'content-type': 'application/json', origin: page },
  });
  expect([answer.statusCode, answer.headers.allow]).toEqual([status, allow]);
  expect(answer.headers['access-control-allow-origin']).toBe(page);
  const socket = connect(await listen(), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(
    `${method} ${url} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${bodyLimit}\r\n\r\n{`,
  );
  const [said] = await once(socket, 'data');
  expect(String(said)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

it('a body that is too large is refused with 413, and its connection serves the next request', async () => {
  const socket = connect(await listen(), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let said = '';
  socket.on('data', (data) => (said += data));
  const size = 2 * bodyLimit;
  socket.write(
    `POST /run HTTP/1.1\r\nhost: localhost\r\nx-user: ann\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`,
  );
  socket.write('x'.repeat(size));
  socket.write('GET /version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  await once(socket, 'close');
  expect(said).toMatch(/^HTTP\/1.1 413 .*HTTP\/1.1 200 .*"language"/s);
});

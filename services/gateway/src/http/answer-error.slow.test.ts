import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLogger } from '@agentmesh/service';
import { expect, it } from 'vitest';
import { byNone } from '../access/by-none.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';

const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
const traceId = expect.stringMatching(/^[0-9a-f]{32}$/);

/** Makes a gateway without a mesh: every route that needs the mesh has a defect. */
function gateway() {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'debug', destination });
  const config = {
    runTimeoutMs: 1_000,
    unreadMs: 1_000,
    whenAbsent: 'reject',
    uploadLimit: 1_000,
  } as const;
  const defect = {} as unknown as GatewayContext['mesh'];
  const server = buildServer(
    { mesh: defect, config, log, stopping: new AbortController().signal },
    {
      bodyLimit: 1_000,
      requestTimeoutMs: 1_000,
      httpHost: '127.0.0.1',
      allowedHosts: undefined,
      authenticators: [byNone],
    },
  );
  /** Returns the lines about errors, without those of the access log. */
  const logged = () =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg !== 'request');
  return { server, logged };
}

it.each([
  ['an unknown path', { method: 'GET', url: '/nowhere' }, 404, 'not_found'],
  ['an address that is none', { method: 'GET', url: '/apps/%zz' }, 400, 'invalid_argument'],
  ['a body that is no JSON', { method: 'POST', url: '/run', payload: '{' }, 400, 'invalid_argument'],
  [
    'a body that is too large',
    { method: 'POST', url: '/run', payload: ' '.repeat(2_000) },
    413,
    'invalid_argument',
  ],
  ['a wrong field', { method: 'POST', url: '/run', payload: '{}' }, 400, 'invalid_argument'],
] as const)('%s is answered with the ids that stand in the log', async (_what, request, status, code) => {
  const { server, logged } = gateway();
  const headers = { 'content-type': 'application/json' };
  const answer = await server.inject({ ...request, headers });
  const body = answer.json();
  expect([answer.statusCode, body]).toEqual([status, { error: expect.any(String), code, traceId }]);
  expect(logged()).toMatchObject([{ level: 'debug', code, reason: body.error, traceId: body.traceId }]);
});

it('a defect is answered with its ids, and only the log has the cause', async () => {
  const { server, logged } = gateway();
  const url = '/apps/shop/users/ann/sessions/s/invocations/e-1';
  const answer = await server.inject({ method: 'GET', url, headers: { traceparent } });
  const ids = { traceId: 'ab'.repeat(16), invocationId: 'e-1' };
  const error = 'the gateway failed; its log has the cause';
  expect([answer.statusCode, answer.json()]).toEqual([500, { error, code: 'internal', ...ids }]);
  expect(logged()).toMatchObject([
    { level: 'error', ...ids, method: 'GET', url, err: { type: 'TypeError' } },
  ]);
});

it.each([
  ['a refused parameter', '/apps/shop/users/ann/sessions/s/invocations/e-1', 400],
  ['an unknown path', '/nowhere', 404],
  ['an address that is none', '/apps/%zz', 400],
])('the log has the names of the query of %s, and no value', async (_, path, status) => {
  const { server, logged } = gateway();
  const answer = await server.inject({ method: 'GET', url: `${path}?token=s3cret&user=ann%20lee` });
  expect(answer.statusCode).toBe(status);
  expect(logged()).toMatchObject([{ method: 'GET', url: `${path}?token&user` }]);
  expect(JSON.stringify(logged())).not.toMatch(/s3cret|lee/);
});

it('an id that no invocation can have is not repeated', async () => {
  const { server, logged } = gateway();
  const url = `/apps/shop/users/ann/sessions/s/invocations/${'x'.repeat(10_000)}`;
  const answer = await server.inject({ method: 'GET', url });
  expect(answer.statusCode).toBeGreaterThanOrEqual(400);
  expect(answer.json()).not.toHaveProperty('invocationId');
  expect(JSON.stringify(logged().map(({ invocationId }) => invocationId))).not.toContain('x'.repeat(100));
});

it('a frame of an error has the ids too', async () => {
  const { server, logged } = gateway();
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', traceparent };
  const answer = await server.inject({ method: 'POST', url: '/run_sse', headers, payload: '{}' });
  const frame = JSON.parse(answer.payload.replace(/^data: /, ''));
  expect(frame).toMatchObject({ code: 'invalid_argument', traceId: 'ab'.repeat(16) });
  expect(logged()).toMatchObject([{ traceId: 'ab'.repeat(16) }]);
});

it('bytes that are not HTTP are answered with an id too', async () => {
  const { server, logged } = gateway();
  const { port } = new URL(await server.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('nonsense\r\n\r\n');
  const [, body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(JSON.parse(body)).toEqual({ error: 'this is no HTTP request', code: 'invalid_argument', traceId });
  expect(logged()).toContainEqual(expect.objectContaining({ traceId: JSON.parse(body).traceId }));
  await server.close();
});

it('a request that does not arrive in time is answered with the time to wait', async () => {
  const { server } = gateway();
  const { port } = new URL(await server.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('POST /run HTTP/1.1\r\nhost: localhost\r\n');
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1.1 408 .*\r\nretry-after: 1\r\n/s);
  expect(JSON.parse(body)).toEqual({
    ...{ error: expect.stringContaining('MESH_REQUEST_TIMEOUT_MS'), code: 'invalid_argument', traceId },
  });
  await server.close();
});

import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { limitBodies } from './body-room.ts';

const size = 8_388_608;

/** Starts a server that answers with the length of the body's text. */
async function open(): Promise<number> {
  const server = fastify({ bodyLimit: size + 100 });
  limitBodies(server, {
    bodyLimit: size + 100,
    nameOf: ({ headers }) => String(headers['x-name']),
    isStreamed: () => false,
    pace: { graceMs: 500, leastRate: 2 ** 30 },
  });
  server.post('/', async ({ body }) => ({ length: (body as { text: string }).text.length }));
  await server.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  return (server.server.address() as AddressInfo).port;
}

/** Begins a large request, and sends no more than its first bytes. */
function begin(port: number, name: string): { socket: Socket; said: () => string } {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let said = '';
  socket.on('data', (data) => (said += data));
  socket.on('error', () => {});
  const head = `POST / HTTP/1.1\r\nhost: a\r\nx-name: ${name}\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`;
  socket.write(`${head}{"text":"`);
  return { socket, said: () => said };
}

const send = (port: number, length: number) =>
  fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-name': 'ann' },
    body: JSON.stringify({ text: 'x'.repeat(length) }),
  });

it('ends slow bodies that fill the room when another one waits', async () => {
  const port = await open();
  const slow = ['eve', 'eve', 'pat', 'pat'].map((name) => begin(port, name));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const answer = await send(port, 100_000);
  expect([answer.status, await answer.json()]).toEqual([200, { length: 100_000 }]);
  const ended = await Promise.any(
    slow.map(async ({ socket, said }) => {
      if (!socket.destroyed) await once(socket, 'close');
      return said();
    }),
  );
  expect(ended).toMatch(/^HTTP\/1\.1 408 .*retry-after: 1\r\n/s);
  expect(ended).toContain('send it again');
});

it('lets a slow body come while nobody waits', async () => {
  const port = await open();
  const { socket, said } = begin(port, 'eve');
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  socket.write(`${'x'.repeat(size - 11)}"}`);
  await once(socket, 'data');
  expect(said()).toContain(`{"length":${size - 11}}`);
});

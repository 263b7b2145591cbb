import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { orderlyClose } from './close-server.ts';

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

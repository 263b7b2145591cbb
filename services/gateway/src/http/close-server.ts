import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How often connections are looked for that have nothing more to do, in ms. */
const lookMs = 50;

/**
 * Prepares a server to be closed in order. Requests in hand end; what has none does not hold the server up: Node closes just those connections that
 * are idle at that moment, not those that become so later, nor those that never had a request (browsers open some ahead).
 *
 * @returns closes the server, and resolves when the last connection has ended
 */
export function orderlyClose(server: FastifyInstance): () => Promise<void> {
  const unused = new Set<Socket>();
  server.server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.server.on('request', ({ socket }) => unused.delete(socket));
  return async () => {
    const look = setInterval(() => {
      server.server.closeIdleConnections();
      for (const socket of unused) socket.destroy();
    }, lookMs);
    try {
      await server.close();
    } finally {
      clearInterval(look);
    }
  };
}

import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';

/** Time between two searches for connections without work, in ms. */
const sweepMs = 50;

/**
 * Prepares a server for an orderly close. Requests in hand end. Other connections do not hold up the close:
 * Node itself closes only the connections that are idle at that moment, but not connections that become idle
 * later, and not connections that never had a request (browsers open some ahead).
 *
 * @returns a function that closes the server, and resolves when the last connection has ended
 */
export function orderlyClose(server: FastifyInstance): () => Promise<void> {
  const unused = new Set<Socket>();
  // With HTTPS, requests name the encrypted socket.
  server.server.on(server.server instanceof TlsServer ? 'secureConnection' : 'connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.server.on('request', ({ socket }) => unused.delete(socket));
  return async () => {
    const sweep = setInterval(() => {
      server.server.closeIdleConnections();
      for (const socket of unused) socket.destroy();
    }, sweepMs);
    try {
      await server.close();
    } finally {
      clearInterval(sweep);
    }
  };
}

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';

/** Time between two searches for connections without work, in ms. */
const sweepMs = 50;

/**
 * Prepares a server for an orderly close. Requests in hand end. Other connections do not hold up the close:
 * Node itself closes only the connections that are idle at that moment, but not connections that become idle
 * later, and not connections that never had a request (browsers open some ahead). A request whose body still comes
 * when `giveUp` aborts loses its connection.
 *
 * @returns a function that closes the server, and resolves when the last connection has ended
 */
export function orderlyClose(server: FastifyInstance, giveUp: AbortSignal): () => Promise<void> {
  const unused = new Set<Socket>();
  const arriving = new Set<IncomingMessage>();
  // With HTTPS, requests name the encrypted socket.
  server.server.on(server.server instanceof TlsServer ? 'secureConnection' : 'connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.server.on('request', (request) => {
    unused.delete(request.socket);
    arriving.add(request);
    request.once('close', () => arriving.delete(request));
  });
  giveUp.addEventListener('abort', () => {
    for (const request of arriving) if (!request.complete) request.destroy();
  });
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

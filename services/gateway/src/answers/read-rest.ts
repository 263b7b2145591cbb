import type { FastifyInstance } from 'fastify';

/**
 * Reads and forgets the rest of a body whose request is answered before its end, as of an upload that is too large: until
 * then nothing reads a further request of its connection. The limit for the time of a request holds here too.
 */
export function readRest(server: FastifyInstance): void {
  server.addHook('onResponse', async ({ raw }) => {
    if (!raw.complete) raw.resume();
  });
}

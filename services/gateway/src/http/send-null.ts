import type { FastifyReply } from 'fastify';

/** Answers a deletion as ADK for Python does: its clients read a JSON body and throw on a 204. */
export function sendNull(reply: FastifyReply): FastifyReply {
  return reply.type('application/json').send('null');
}

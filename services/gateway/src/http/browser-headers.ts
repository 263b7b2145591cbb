import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** Headers that pages may send, and headers of answers that they may read. */
const allowedHeaders = [
  'authorization',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'traceparent',
  'tracestate',
];
const exposedHeaders = [
  ...['x-invocation-id', 'x-resume-id', 'x-total-count', 'artifact-version'],
  ...['content-disposition', 'retry-after', 'www-authenticate'],
];
/** Time for which a browser remembers that it may send requests, in s. */
const maxAge = 600;

/**
 * Adds the headers that protect people with browsers, and the headers by which pages of other origins may use the
 * gateway (CORS). Credentials of browsers, such as cookies, are never allowed: pages send a token.
 */
export function addBrowserHeaders(
  server: FastifyInstance,
  { origins, isHttps }: { origins: readonly string[]; isHttps: boolean },
): void {
  server.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'no-referrer',
      ...(isHttps && { 'strict-transport-security': 'max-age=31536000' }),
    });
  });
  if (origins.length === 0) return;
  server.register(cors, {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    ...{ allowedHeaders, exposedHeaders, maxAge },
  });
}

import type { FastifyReply } from 'fastify';

/** Aborts when the client goes away before it has its answer. */
export function clientLeft({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) left.abort();
  });
  return left.signal;
}

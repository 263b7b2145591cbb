import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** The time that a body has: so long, in ms, and the time that its bytes take at the least rate, in bytes per second. */
export interface BodyPace {
  graceMs: number;
  leastRate: number;
}

/** Time between two looks at a slow body, in ms. */
const lookMs = 250;

/**
 * Passes a body on. A body that comes too slowly is ended with the status 408 once others wait for its room.
 *
 * @param bytes the size that the request gives
 */
export function hurriedBody(
  payload: NodeJS.ReadableStream,
  reply: FastifyReply,
  { bytes, pace, isWanted }: { bytes: number; pace: BodyPace; isWanted: () => boolean },
): PassThrough {
  const body = new PassThrough();
  const latest = performance.now() + pace.graceMs + (bytes / pace.leastRate) * 1_000;
  const timer = setInterval(() => {
    if (performance.now() < latest || !isWanted()) return;
    // The rest of the body is not read.
    reply.headers({ connection: 'close', 'retry-after': '1' });
    body.destroy(tooSlow());
  }, lookMs);
  const stop = () => clearInterval(timer);
  body.once('close', stop);
  payload.once('end', stop);
  payload.once('error', (error) => body.destroy(error));
  payload.pipe(body);
  return body;
}

function tooSlow(): Error {
  const message =
    'the body came too slowly while other requests waited for its room; send it again, in less time';
  return Object.assign(new Error(message), { statusCode: 408 });
}

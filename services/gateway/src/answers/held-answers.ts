import { Readable } from 'node:stream';
import type { Logger } from '@agentmesh/service';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Advice } from './advice.ts';
import type { HeldBytes } from './held-bytes.ts';

/** Size from which an answer counts, and size of the slices in which it is sent, in bytes. */
export const sliceBytes = 65_536;

export interface HeldOptions {
  /** The bytes of large answers that wait for their clients. */
  held: HeldBytes;
  /** Time for which a client may read nothing, in ms. */
  unreadMs: number;
  log: Pick<Logger, 'warn'>;
}

/**
 * Keeps clients that do not read from filling the memory of the gateway. A large answer is sent in slices, each when
 * the one before has left; while too many bytes wait for their clients, further large answers are refused; and a
 * client that reads nothing for some time is disconnected, also from a download.
 */
export function holdAnswers(server: FastifyInstance, { held, unreadMs, log }: HeldOptions): void {
  const cut = (reply: FastifyReply) => {
    log.warn({ route: reply.request.routeOptions.url }, 'disconnected a client that does not read');
    reply.raw.destroy();
  };
  server.addHook('onSend', async ({ method }, reply, payload: unknown) => {
    if (method === 'HEAD') return payload;
    if (payload instanceof Readable) return guarded(payload, () => cut(reply), unreadMs);
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
    if (Buffer.byteLength(payload) <= sliceBytes) return payload;
    const bytes = Buffer.from(payload);
    reply.raw.once('close', held.hold(bytes.length, adviceFor(reply)).release);
    reply.header('content-length', bytes.length);
    return guarded(slicesOf(bytes), () => cut(reply), unreadMs);
  });
}

/** Returns what a client can do whose answer is refused. A run must not be started again: only its answer is missing. */
export function adviceFor(reply: FastifyReply): Advice {
  const invocation = reply.getHeader('x-invocation-id');
  if (invocation === undefined)
    return { advice: 'try again soon, or read the events page by page', mayRepeat: true };
  const advice = `the run is complete: read its events at …/invocations/${invocation}/events`;
  return { advice, mayRepeat: false };
}

/** Returns the slices of an answer, each of them sent when the one before has left. */
export function* slicesOf(bytes: Buffer): Generator<Buffer, void, void> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

/** Returns a stream of these chunks that gives up when nobody takes the next chunk in time. */
function guarded(chunks: Iterable<Buffer> | AsyncIterable<Buffer>, giveUp: () => void, ms: number): Readable {
  async function* pass() {
    for await (const chunk of chunks) {
      const timer = setTimeout(giveUp, ms);
      try {
        yield chunk;
      } finally {
        clearTimeout(timer);
      }
    }
  }
  return Readable.from(pass(), { objectMode: false, highWaterMark: sliceBytes });
}

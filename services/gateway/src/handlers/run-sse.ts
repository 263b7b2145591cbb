import { MeshError } from '@agentmesh/protocol';
import { errorBody } from '../errors.ts';
import { watchUntil } from '../left.ts';
import { startRequestedRun } from '../start-run.ts';
import type { Handler } from './index.ts';

/** A line now and then keeps proxies from closing a connection on which a model thinks, in ms. */
const keepAliveMs = 15_000;
/** How long a client may take to read the rest, in ms. */
const unreadMs = 1_000;

/**
 * Runs and tells each event as it happens (server-sent events). What is wrong with the request is said by the status; what goes wrong
 * later by a last frame `{"error": …}`. A client that leaves does not stop the run.
 */
export const runSse: Handler = async (context, request, reply) => {
  using until = watchUntil(context, reply);
  const { signal, left } = until;
  const started = await startRequestedRun(context, request, signal, true);
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-invocation-id': started.invocationId,
  });
  raw.flushHeaders();
  const send = async (data: unknown) => {
    // A slow reader slows the reading of events, not the run.
    if (!raw.write(`data: ${JSON.stringify(data)}\n\n`) && !signal.aborted) await drained(raw, signal);
  };
  const keepAlive = setInterval(() => raw.write(': keep-alive\n\n'), keepAliveMs);
  try {
    for await (const event of started.events) await send(event);
    const { status, error } = await started.end;
    if (status === 'failed' && error) await send(errorBody(MeshError.fromWire(error)));
  } catch (thrown) {
    if (!left.aborted) {
      const error = MeshError.from(thrown, 'the gateway failed; its log has the cause');
      if (error.code === 'internal')
        context.log.error({ err: thrown, invocationId: started.invocationId }, 'stream failed');
      await send(errorBody(error));
    }
  } finally {
    clearInterval(keepAlive);
    raw.end();
    // A client that does not read would hold the connection, and with it the gateway's stop.
    if (raw.writableLength > 0) setTimeout(() => raw.destroy(), unreadMs).unref();
  }
};

function drained(raw: NodeJS.EventEmitter, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      raw.off('drain', go);
      signal.removeEventListener('abort', go);
      resolve();
    };
    raw.once('drain', go);
    signal.addEventListener('abort', go);
  });
}

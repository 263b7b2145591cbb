import { z } from 'zod';
import { shownTo } from '../../access/shown-event.ts';
import type { Handler } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';
import { cancelOnceBegun } from '../../runs/cancel-once-begun.ts';
import { watchUntil } from '../../runs/run-watch.ts';
import { startRequestedRun } from '../../runs/start-requested-run.ts';
import { streamRun } from '../../runs/stream-run.ts';

export const runSseQuery = {
  stopOnDisconnect: z.enum(['true', 'false'], 'must be true or false').optional(),
};

/**
 * Starts a run and sends each event as it happens (server-sent events). An invalid request is answered with
 * its status, and to a client that accepts `text/event-stream` with its error as a frame; an error after the
 * first event is the last frame, `{"error": …}`. A client that leaves does not stop the run, and can come
 * back to it. With `?stop_on_disconnect=true`, or by its configuration, the gateway does as ADK's server: it
 * then cancels the run, unless an earlier request with the same `Idempotency-Key` began it.
 */
export const runSse: Handler = async (context, request, reply) => {
  const { stopOnDisconnect = context.config.stopOnDisconnect } = readQuery(runSseQuery, request);
  using until = watchUntil(context, reply);
  const watched = { signal: until.signal, streams: true };
  const { ref, numbered, end, isRepeated } = await startRequestedRun(context, request, reply, watched);
  reply.hijack();
  const streamed = { ref, numbered, end, idPlace: 'behind', show: shownTo(request, ref) } as const;
  const isOver = await streamRun(context, reply, until, streamed);
  if (stopOnDisconnect === 'true' && !isRepeated && until.clientGone.aborted && !isOver) {
    await cancelOnceBegun(context, ref);
  }
};

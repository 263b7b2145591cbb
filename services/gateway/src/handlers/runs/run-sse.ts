import { setTimeout as delay } from 'node:timers/promises';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { cancelInvocation } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';
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
 * then cancels the run.
 */
export const runSse: Handler = async (context, request, reply) => {
  const { stopOnDisconnect = context.config.stopOnDisconnect } = readQuery(runSseQuery, request);
  using until = watchUntil(context, reply);
  const { ref, numbered, end } = await startRequestedRun(context, request, until.signal, true);
  reply.hijack();
  const { invocationId, resume } = ref;
  const streamed = { invocationId, resume, numbered, end, idPlace: 'behind' } as const;
  const isOver = await streamRun(context, reply, until, streamed);
  if (stopOnDisconnect === 'true' && until.clientGone.aborted && !isOver) {
    await cancelOnceBegun(context, ref);
  }
};

/** Number of tries to cancel a run that has not begun, and the pause between them, in ms. */
const maxAttempts = 50;
const pauseMs = 200;

/**
 * Cancels a run as soon as it has begun. A client may leave before any replica has taken its run, and until
 * then the run cannot be cancelled.
 */
async function cancelOnceBegun({ mesh, stopping }: GatewayContext, ref: InvocationRef): Promise<void> {
  for (let attempt = 1; !stopping.aborted; attempt += 1) {
    try {
      await cancelInvocation(mesh, ref, 'its client has gone away');
      return;
    } catch (error) {
      if (MeshError.from(error).code !== 'not_found' || attempt === maxAttempts) throw error;
    }
    await delay(pauseMs, undefined, { signal: stopping }).catch(() => {});
  }
}

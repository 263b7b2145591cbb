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

const query = {
  stopOnDisconnect: z.enum(['true', 'false'], 'must be true or false').default('false'),
};

/**
 * Runs and tells each event as it happens (server-sent events). A wrong request gets its status, and to a client that accepts `text/event-stream` its
 * error as a frame; an error after the first event is the last frame, `{"error": …}`. A client that leaves does not stop the run, and can come back to it, unless it asks with
 * `?stop_on_disconnect=true` for what ADK's server does: then the run is cancelled.
 */
export const runSse: Handler = async (context, request, reply) => {
  const { stopOnDisconnect } = readQuery(query, request);
  using until = watchUntil(context, reply);
  const { ref, numbered, end } = await startRequestedRun(context, request, until.signal, true);
  reply.hijack();
  const { invocationId, resume } = ref;
  const streamed = { invocationId, resume, numbered, end, idPlace: 'behind' } as const;
  const isOver = await streamRun(context, reply, until, streamed);
  if (stopOnDisconnect === 'true' && until.left.aborted && !isOver) {
    await cancelOnceBegun(context, ref);
  }
};

/** How often a run that has not begun is looked for again, and after how long, in ms. */
const tries = 50;
const lookMs = 200;

/** A run that nobody has taken yet cannot be cancelled: its client may have left that early. */
async function cancelOnceBegun({ mesh, stopping }: GatewayContext, ref: InvocationRef): Promise<void> {
  for (let attempt = 1; !stopping.aborted; attempt += 1) {
    try {
      await cancelInvocation(mesh, ref, 'its client has gone away');
      return;
    } catch (error) {
      if (MeshError.from(error).code !== 'not_found' || attempt === tries) throw error;
    }
    await delay(lookMs, undefined, { signal: stopping }).catch(() => {});
  }
}

import { cancelInvocation } from '@agentmesh/mesh';
import { camelizeKeys, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { watchUntil } from '../left.ts';
import { startRequestedRun } from '../start-run.ts';
import { streamRun } from '../stream-run.ts';
import type { Handler } from './index.ts';

const query = z.object({
  stopOnDisconnect: z.enum(['true', 'false'], 'must be true or false').default('false'),
});

/**
 * Runs and tells each event as it happens (server-sent events). What is wrong with the request is said by the status; what goes wrong
 * later by a last frame `{"error": …}`. A client that leaves does not stop the run, and can come back to it, unless it asks with
 * `?stop_on_disconnect=true` for what ADK's server does: then the run is cancelled.
 */
export const runSse: Handler = async (context, request, reply) => {
  const { stopOnDisconnect } = parse(query, camelizeKeys(request.query), 'the query');
  using until = watchUntil(context, reply);
  const { ref, numbered, end } = await startRequestedRun(context, request, until.signal, true);
  reply.hijack();
  const isOver = await streamRun(context, reply, until, { invocationId: ref.invocationId, numbered, end });
  if (stopOnDisconnect === 'true' && until.left.aborted && !isOver) {
    await cancelInvocation(context.mesh, ref, 'its client has gone away');
  }
};

import { type ErrorCode, type Event, MeshError } from '@agentmesh/protocol';
import type { Handler } from '../../context/route.ts';
import { watchUntil } from '../../runs/run-watch.ts';
import { startRequestedRun } from '../../runs/start-requested-run.ts';
import { runHeaders } from '../../runs/stream-run.ts';

/** Runs to the end and answers with all events. */
export const run: Handler = async (context, request, reply) => {
  using until = watchUntil(context, reply);
  const started = await startRequestedRun(context, request, until.signal, false);
  reply.headers(runHeaders(started));
  const events: Event[] = [];
  for await (const event of started.events) if (!event.partial) events.push(event);
  const { status, error } = await started.end;
  if (status === 'failed' && error) {
    const { code, message, details } = MeshError.fromWire(error);
    throw new MeshError(code as ErrorCode, message, {
      details: { ...details, invocationId: started.invocationId },
    });
  }
  return events;
};

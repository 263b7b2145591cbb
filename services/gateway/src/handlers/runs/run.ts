import { type ErrorCode, MeshError } from '@agentmesh/protocol';
import { shownTo } from '../../access/shown-event.ts';
import { sliceBytes } from '../../answers/held-answers.ts';
import type { Handler } from '../../context/route.ts';
import { CollectedEvents } from '../../runs/collected-events.ts';
import { watchUntil } from '../../runs/run-watch.ts';
import { startRequestedRun } from '../../runs/start-requested-run.ts';
import { runHeaders } from '../../runs/stream-run.ts';

/** Runs to the end and answers with all events. The status of the answer tells how the run ended. */
export const run: Handler = async (context, request, reply) => {
  using until = watchUntil(context, reply);
  const watched = { signal: until.signal, streams: false };
  const started = await startRequestedRun(context, request, reply, watched);
  const { ref } = started;
  reply.headers(runHeaders(ref));
  using collected = new CollectedEvents(context, ref, shownTo(request, ref));
  for await (const numbered of started.numbered) collected.add(numbered);
  const { status, error } = await started.end;
  if (status === 'failed' && error) {
    const { code, message, details } = MeshError.fromWire(error);
    throw new MeshError(code as ErrorCode, message, {
      details: { ...details, invocationId: ref.invocationId },
    });
  }
  const { text } = collected;
  // Nothing is to be read, so a small answer waits for no turn among the reads.
  if (text !== undefined && Buffer.byteLength(text) <= sliceBytes)
    return reply.type('application/json; charset=utf-8').send(text);
  return await context.large.sendJson(request, reply, () => collected.parts());
};

import { followRun, hasEnded } from '@agentmesh/mesh';
import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { position, readInvocationRef, readQuery } from '../../params/params.ts';
import { watchUntil } from '../../runs/run-watch.ts';
import { outlineAbove, runHeaders, streamRun } from '../../runs/stream-run.ts';

export const followQuery = { after: position.optional(), resume: z.string().min(1).optional() };
const headers = z.object({ 'last-event-id': position.optional() });

/**
 * Follows a run again, at any gateway and at any time: sends the events that were committed after
 * `Last-Event-ID` or `?after=`, then the new events, until the end. With `?resume=` it sends only the events
 * of a run that continues the invocation. If both positions are present, the header counts: a browser's
 * EventSource sends it and keeps the address. When no event is left the answer is 204, after which an
 * EventSource stops asking.
 */
export const followInvocation: Handler = async (context, request, reply) => {
  const { after, resume } = readQuery(followQuery, request);
  // A client that has received no id yet sends an empty id.
  const { 'last-event-id': lastId } = parse(
    headers,
    { 'last-event-id': request.headers['last-event-id'] || undefined },
    'the request header',
  );
  const ref = { ...(await readInvocationRef(context, request)), resume };
  using until = watchUntil(context, reply);
  const afterSeq = lastId ?? after ?? 0;
  const { state, numbered, end } = await followRun(context.mesh, ref, {
    ...{ afterSeq, signal: until.signal, outlineAbove },
  });
  if (hasEnded(state.status) && afterSeq > 0 && afterSeq >= state.lastSeq) {
    return reply.status(204).headers(runHeaders(state)).send();
  }
  reply.hijack();
  await streamRun(context, reply, until, { ref: { ...ref, resume: state.resume }, numbered, end });
  return undefined;
};

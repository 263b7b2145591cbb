import type { NumberedEvent } from '@agentmesh/mesh';
import { type InvocationEnd, MeshError } from '@agentmesh/protocol';
import type { FastifyReply } from 'fastify';
import type { GatewayContext } from '../context/context.ts';
import { reportError } from '../http/answer-error.ts';
import { idsOf } from '../http/request-ids.ts';
import { openSse, type SseFrame, type SseOptions } from '../http/sse-stream.ts';
import type { RunWatch } from './run-watch.ts';

/** The frames of a protocol for the events of a run. */
export interface FrameForm {
  /** Returns the frames before the first event. */
  begin(): readonly object[];
  /** Returns the frames of an event. */
  event(event: NumberedEvent['event']): readonly object[];
  /** Returns the frames after the last event of a run that did not fail. */
  end(): Promise<readonly object[]>;
  /** Returns the last frame of a run that failed, or whose stream ends early. */
  failure(error: ReturnType<typeof reportError>): object;
}

export interface StreamedRun {
  invocationId: string;
  resume?: string | undefined;
  numbered: AsyncIterable<NumberedEvent>;
  end: Promise<InvocationEnd>;
  /** Default `before`. */
  idPlace?: SseOptions['idPlace'];
  /** Default: the events themselves with their numbers. */
  form?: FrameForm;
}

/**
 * Returns the headers with which a client comes back to a run: the invocation and, if the run continues one,
 * the run.
 */
export function runHeaders({ invocationId, resume }: Pick<StreamedRun, 'invocationId' | 'resume'>) {
  return { 'x-invocation-id': invocationId, ...(resume !== undefined && { 'x-resume-id': resume }) };
}

/** Returns the headers that hooks have set for every answer: the stream is sent without the server's help. */
function fixedHeaders(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  );
}

/**
 * Sends the events of a run to a client, as server-sent events, until the end. The id of a committed event is
 * its number in the session; a piece of an event has no id. An error is the last frame, `{"error": …}`.
 * Returns whether the run has ended.
 */
export async function streamRun(
  { config, stopping, log }: GatewayContext,
  reply: FastifyReply,
  { signal, clientGone }: RunWatch,
  { invocationId, resume, numbered, end, idPlace = 'before', form }: StreamedRun,
): Promise<boolean> {
  const { raw, request } = reply;
  const headers = { ...fixedHeaders(reply), ...runHeaders({ invocationId, resume }) };
  const ids = { ...idsOf(request), invocationId };
  const sse = openSse(raw, { headers, signal, stopping, unreadMs: config.unreadMs, idPlace });
  let isOver = false;
  let last: SseFrame | undefined;
  const failed = (thrown: unknown) => {
    const body = reportError(log, thrown, ids);
    return { data: form ? form.failure(body) : body };
  };
  const sendAll = async (frames: readonly object[] = []) => {
    for (const data of frames) await sse.send({ data });
  };
  try {
    await sendAll(form?.begin());
    for await (const { event, seq } of numbered) {
      if (form) await sendAll(form.event(event));
      else await sse.send({ data: event, id: seq });
    }
    const { status, error } = await end;
    isOver = true;
    if (status === 'failed' && error) last = failed(MeshError.fromWire(error));
    else await sendAll(await form?.end());
  } catch (thrown) {
    if (MeshError.from(thrown).code === 'resource_exhausted')
      log.warn({ traceId: ids.traceId, invocationId }, 'disconnected a client that does not read');
    // A client that has left gets no frame.
    if (!clientGone.aborted) last = failed(thrown);
  } finally {
    sse.close(last);
  }
  return isOver;
}

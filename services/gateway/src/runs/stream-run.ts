import type { InvocationRef, StoredEvent } from '@agentmesh/agent/internal';
import { type Mesh, type NumberedEvent, outlastOutage } from '@agentmesh/mesh';
import { type Event, type InvocationEnd, MeshError } from '@agentmesh/protocol';
import type { FastifyReply } from 'fastify';
import type { ShowEvent } from '../access/shown-event.ts';
import type { LargeRead } from '../context/large-answers.ts';
import type { HandlerContext } from '../context/route.ts';
import { reportError } from '../http/answer-error.ts';
import { idsOf } from '../http/request-ids.ts';
import { dataBlock, frameText, openSse, type SseFrame, type SseOptions } from '../http/sse-stream.ts';
import { type Frame, type FrameForm, LargeFrame } from './frame-form.ts';
import type { RunWatch } from './run-watch.ts';

/**
 * Size from which an event comes as an outline, in characters: it is read from the log when its client can take it, so
 * that slow clients hold no more than this.
 */
export const outlineAbove = 32_768;

export interface StreamedRun {
  ref: InvocationRef;
  numbered: AsyncIterable<NumberedEvent>;
  end: Promise<InvocationEnd>;
  /** Default `before`. */
  idPlace?: SseOptions['idPlace'];
  /** Used for events without a form; default: the client sees all of an event. */
  show?: ShowEvent;
  /** Default: the events themselves with their numbers. */
  form?: FrameForm;
}

/**
 * Returns the headers with which a client comes back to a run: the invocation and, if the run continues one,
 * the run.
 */
export function runHeaders({ invocationId, resume }: Pick<InvocationRef, 'invocationId' | 'resume'>) {
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
  { mesh, config, stopping, log, large }: HandlerContext,
  reply: FastifyReply,
  { signal, clientGone }: RunWatch,
  { ref, numbered, end, idPlace = 'before', show = (event) => event, form }: StreamedRun,
): Promise<boolean> {
  const { invocationId, resume } = ref;
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
  const sendHeld = async <T>(what: LargeRead<T>) => {
    const { bytes, release } = await outlastOutage(() => large.readHeld(request, what, signal), signal);
    try {
      await sse.sendBytes(bytes);
    } finally {
      release();
    }
  };
  const sendAll = async (frames: readonly Frame[] = []) => {
    for (const frame of frames) {
      if (frame instanceof LargeFrame) await sendHeld(bytesOf(frame));
      else await sse.send({ data: frame });
    }
  };
  const textOf = (event: Event, id: number): string =>
    form ? form.event(event).map(dataBlock).join('') : frameText({ data: show(event), id }, idPlace);
  const sendLarge = (seq: number) =>
    sendHeld<StoredEvent>({
      read: () => readEvent(mesh, ref, seq),
      sizeOf: ({ chars = 0 }) => chars,
      encode: ({ event }) => Buffer.from(textOf(event, seq)),
    });
  try {
    await sendAll(form?.begin());
    for await (const { event, seq, isOutline, isLive } of numbered) {
      if (isOutline && seq !== undefined) await sendLarge(seq);
      else if (form) await sendAll(form.event(event, isLive));
      else await sse.send({ data: show(event), id: seq });
    }
    const { status, error } = await end;
    isOver = true;
    if (status === 'failed' && error) last = failed(MeshError.fromWire(error));
    else await sendAll(await outlastOutage(async () => await form?.end(), signal));
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

/** Reads one event of a session. */
async function readEvent({ sessions }: Mesh, ref: InvocationRef, seq: number): Promise<StoredEvent> {
  const { appName, userId, sessionId } = ref;
  const one = { appName, userId, sessionId, afterSeq: seq - 1, limit: 1, maxChars: 1 };
  const [stored] = await sessions.log.readEvents(one);
  if (stored) return stored;
  throw new MeshError('not_found', `event ${seq} is not there any more: session ${sessionId} was deleted`);
}

/** Reads a large frame as the bytes that are sent. */
function bytesOf(frame: LargeFrame): LargeRead<Buffer> {
  return {
    read: async () => Buffer.from(dataBlock(await frame.read())),
    sizeOf: ({ length }) => length,
    encode: (bytes) => bytes,
  };
}

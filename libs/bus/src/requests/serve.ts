import { type Frame, MeshError } from '@agentmesh/protocol';
import { assertPositive } from '../bus/assert-positive.ts';
import type { OnError, Packet } from '../bus/broker-link.ts';
import {
  type IncomingRequest,
  queueGroup,
  type RequestHandler,
  type ServeOptions,
  type Started,
} from '../bus/bus.ts';
import { startOnce, within } from '../bus/started.ts';
import { createMessage } from '../messages/create-message.ts';
import { maxTimerMs, remainingMs } from '../messages/deadline.ts';
import type { Callee } from './callee.ts';
import { createReplies, type Replies } from './replies.ts';

/** Answers the requests on a subject. See `Bus.serve`. */
export async function serve(
  callee: Callee,
  subject: string,
  handler: RequestHandler,
  { maxConcurrency = 64 }: ServeOptions = {},
): Promise<Started> {
  assertPositive('maxConcurrency', maxConcurrency);
  const { link, onError } = callee;
  const where = `serve ${subject}`;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  // A request holds its place until its reply is sent. The work of its handler after the reply takes no
  // place.
  const places = new Set<Packet>();

  function onPacket(packet: Packet) {
    const isBusy = places.size >= maxConcurrency;
    if (!isBusy) places.add(packet);
    const onReplied = () => void places.delete(packet);
    const answering = answer(callee, subject, packet, async (replies) => {
      if (isBusy) throw busyError(maxConcurrency);
      await untilDeadline(packet, stopping.signal, async (signal) => {
        // Heartbeats go on meanwhile.
        const letGo = await callee.claims.hold(packet, 'answering', signal);
        try {
          const message = createMessage(await callee.claims.restore(packet));
          await runHandler(handler, { ...message, signal }, replies, { onReplied, onError });
        } finally {
          letGo();
        }
      });
    })
      .catch((thrown) => onError(thrown, where))
      .finally(() => {
        onReplied();
        inFlight.delete(answering);
      });
    if (!isBusy) inFlight.add(answering);
  }

  const listener = await link.listen(subject, onPacket, {
    queue: queueGroup,
    onLost: (error) => onError(error, where),
  });
  return startOnce(async (graceMs) => {
    await listener.drain();
    await within(graceMs, Promise.all(inFlight));
    stopping.abort(new MeshError('unavailable', 'the replica stops; try again'));
    await Promise.all(inFlight);
    await link.flush();
  });
}

async function answer(
  callee: Callee,
  subject: string,
  packet: Packet,
  run: (replies: Replies) => Promise<void>,
): Promise<void> {
  const count = callee.stats.start(subject);
  const replies = createReplies(callee, packet);
  let failure: unknown;
  try {
    await run(replies);
  } catch (thrown) {
    failure = thrown;
    const error = MeshError.from(thrown);
    // A MeshError of the handler is an answer to the caller. Any other exception is a defect of the handler.
    if (error.code === 'internal' && error.cause !== undefined)
      callee.onError(error.cause, `serve ${subject}`);
    await sendError(replies, error);
  } finally {
    replies.close();
    count(failure);
  }
}

async function sendError(replies: Replies, error: MeshError): Promise<void> {
  try {
    await replies.send({ type: 'error', data: error.toWire() });
  } catch (thrown) {
    if (MeshError.from(thrown).code !== 'invalid_argument') throw thrown;
    // The details are too large or not JSON: send the code without them, which is enough for the caller.
    await replies.send({ type: 'error', data: { code: error.code, message: error.message.slice(0, 1_000) } });
  }
}

/** Runs with a signal that ends at the caller's deadline or when the service stops. */
async function untilDeadline(
  packet: Packet,
  stopping: AbortSignal,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  const onStop = () => controller.abort(stopping.reason);
  const untilDeadlineMs = remainingMs(packet.headers);
  const lateError = () => new MeshError('deadline_exceeded', 'the time given for the answer is over');
  if (untilDeadlineMs !== undefined && untilDeadlineMs <= 0) throw lateError();
  const timer =
    untilDeadlineMs === undefined
      ? undefined
      : setTimeout(() => controller.abort(lateError()), Math.min(untilDeadlineMs, maxTimerMs));
  stopping.addEventListener('abort', onStop);
  if (stopping.aborted) onStop();
  try {
    await run(controller.signal);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
}

async function runHandler(
  handler: RequestHandler,
  request: IncomingRequest,
  replies: Replies,
  { onReplied, onError }: { onReplied: () => void; onError: OnError },
): Promise<void> {
  const { signal } = request;
  signal.throwIfAborted();
  const frames = handler(request)[Symbol.asyncIterator]();
  // A handler that ignores the signal must not keep the caller waiting.
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  // A generator that hangs does not answer `return`. The wait for it therefore also ends with the signal.
  const finish = () =>
    Promise.resolve(frames.return?.()).catch((thrown) => onError(thrown, `serve ${request.subject}`));
  try {
    for (;;) {
      const next = await Promise.race([frames.next(), aborted.promise]);
      if (next.done) throw new Error('the handler ended without a result');
      await sendFrame(replies, next.value);
      if (next.value.type === 'result') break;
    }
    onReplied();
    await Promise.race([finish(), aborted.promise.catch(() => {})]);
  } catch (thrown) {
    void finish();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function sendFrame(replies: Replies, frame: Frame): Promise<void> {
  if (frame.type === 'error') throw MeshError.fromWire(frame.data);
  try {
    await replies.send(frame);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code !== 'invalid_argument') throw error;
    // With the code `invalid_argument` the caller would look for the fault in its request.
    throw new MeshError('internal', `the answer cannot be sent: ${error.message}`, { cause: error });
  }
}

function busyError(maxConcurrency: number): MeshError {
  return new MeshError(
    'resource_exhausted',
    `the replica is busy with ${maxConcurrency} requests; try again, or start more replicas`,
  );
}

import { header, MeshError } from '@agentmesh/protocol';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import { heartbeatMs, type ReceivedFrame, type RequestOptions } from '../bus/bus.ts';
import { abortError, whenConnected } from '../bus/when-connected.ts';
import type { Claims } from '../claims/claims.ts';
import { maxTimerMs, remainingMs } from '../messages/deadline.ts';
import { encodeJson } from '../messages/json.ts';
import { givenHeaders } from '../messages/message-headers.ts';
import { assertSubject } from '../messages/subject.ts';
import type { Inbox } from './inbox.ts';
import { createMailbox } from './mailbox.ts';
import { readFrame } from './read-frame.ts';

export interface Caller {
  link: BrokerLink;
  claims: Claims;
  inbox: Inbox;
  service: string;
  replica: string;
}

/** Sends a request and yields the frames of its reply. See `Bus.request`. */
export async function* request(
  caller: Caller,
  subject: string,
  payload: unknown,
  options: RequestOptions = {},
): AsyncGenerator<ReceivedFrame, void, undefined> {
  const { signal, silenceMs = 3 * heartbeatMs } = options;
  if (signal?.aborted) throw abortError(signal.reason);
  const packet = requestPacket(caller, subject, payload, options);
  const frames = createMailbox<ReceivedFrame>();
  const untilDeadlineMs = remainingMs(packet.headers);
  if (untilDeadlineMs !== undefined && untilDeadlineMs <= 0) throw deadlineError();

  const over = new AbortController();
  over.signal.addEventListener('abort', () => frames.fail(over.signal.reason));
  const onAbort = () => over.abort(abortError(signal?.reason));
  signal?.addEventListener('abort', onAbort);
  const deadline =
    untilDeadlineMs === undefined
      ? undefined
      : setTimeout(() => over.abort(deadlineError()), Math.min(untilDeadlineMs, maxTimerMs));
  let expected = 0;
  let silence: ReturnType<typeof watchSilence> | undefined;
  let close: (() => void) | undefined;
  let sentPacket: Packet | undefined;

  function onPacket(reply: Packet) {
    try {
      frames.put(readFrame(reply, subject, expected++));
    } catch (thrown) {
      frames.fail(MeshError.from(thrown));
    }
  }

  /** Removes the payload of the request. Only one replica reads it, and the request is over. */
  function drop() {
    if (sentPacket) caller.claims.drop(sentPacket);
  }

  async function send() {
    await whenConnected(caller.link, over.signal);
    sentPacket = await caller.claims.shrink(packet, 'news');
    if (over.signal.aborted) return;
    silence = watchSilence(silenceMs, () => over.abort(silenceError(subject, silenceMs)));
    close = await caller.inbox.call(sentPacket, {
      onPacket,
      onFail: frames.fail,
      onAlive: () => silence?.reset(),
    });
    if (over.signal.aborted) close();
  }

  try {
    // Not awaited: the deadline and the signal must end the request while it still waits to be sent, too.
    const sending = send().catch(frames.fail);
    void sending.then(() => over.signal.aborted && drop());
    for (;;) {
      const frame = await frames.take();
      yield frame;
      if (frame.type === 'result') return;
    }
  } finally {
    over.abort(new MeshError('cancelled', 'nobody reads the answer any more'));
    close?.();
    drop();
    silence?.stop();
    clearTimeout(deadline);
    signal?.removeEventListener('abort', onAbort);
  }
}

function requestPacket(caller: Caller, subject: string, payload: unknown, options: RequestOptions): Packet {
  return {
    subject: assertSubject(subject),
    bytes: encodeJson(payload),
    headers: {
      [header.caller]: caller.service,
      [header.replica]: caller.replica,
      ...givenHeaders(options.headers),
      [header.accept]: 'frames',
    },
  };
}

/** Calls back once when `reset` was not called for the given time. */
function watchSilence(silenceMs: number, onSilence: () => void) {
  let lastSignAt = performance.now();
  let stopped = false;
  let timer = setTimeout(onTimer, silenceMs);

  function onTimer() {
    // Node runs expired timers before it reads sockets. After a blocked event loop, frames may lie unread in
    // the sockets: check again after these frames are read.
    setImmediate(() => {
      if (stopped) return;
      const stillMs = lastSignAt + silenceMs - performance.now();
      if (stillMs <= 0) onSilence();
      else timer = setTimeout(onTimer, stillMs);
    });
  }

  return {
    reset() {
      lastSignAt = performance.now();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function silenceError(subject: string, silenceMs: number): MeshError {
  return new MeshError(
    'unavailable',
    `no sign of life from ${subject} for ${silenceMs} ms: its process died or hangs; a program without agentmesh that works longer sends heartbeats, or a ticket first`,
    { details: { reason: 'silence' } },
  );
}

function deadlineError(): MeshError {
  return new MeshError('deadline_exceeded', 'the time given for the answer is over');
}

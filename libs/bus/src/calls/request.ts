import { header, MeshError } from '@agentmesh/protocol';
import { heartbeatMs, type ReceivedFrame, type RequestOptions } from '../bus.ts';
import { abortError } from '../gate.ts';
import type { Packet } from '../link.ts';
import { createMailbox } from '../mailbox.ts';
import { assertSubject, encodeJson, maxTimerMs, remainingMs } from '../message.ts';
import type { Inbox } from './inbox.ts';
import { readFrame } from './read-frame.ts';

export interface Caller {
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
  const leftMs = remainingMs(packet.headers);
  if (leftMs !== undefined && leftMs <= 0) throw deadlineError();

  const silence = watchSilence(silenceMs, () => frames.fail(silenceError(subject, silenceMs)));
  const deadline =
    leftMs === undefined
      ? undefined
      : setTimeout(() => frames.fail(deadlineError()), Math.min(leftMs, maxTimerMs));
  const onAbort = () => frames.fail(abortError(signal?.reason));
  signal?.addEventListener('abort', onAbort);
  let close = () => {};
  let expected = 0;

  function onPacket(reply: Packet) {
    silence.heard();
    try {
      frames.put(readFrame(reply, subject, expected++));
    } catch (thrown) {
      frames.fail(MeshError.from(thrown));
    }
  }

  try {
    close = await caller.inbox.call(packet, { onPacket, onFail: frames.fail }, signal);
    silence.heard();
    for (;;) {
      const frame = await frames.take();
      yield frame;
      if (frame.type === 'result') return;
    }
  } finally {
    close();
    silence.stop();
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
      ...options.headers,
      [header.accept]: 'frames',
    },
  };
}

/** Calls back once when nothing was heard for a while. */
function watchSilence(silenceMs: number, onSilence: () => void) {
  let heardAt = performance.now();
  let stopped = false;
  let timer = setTimeout(onTimer, silenceMs);

  function onTimer() {
    // Expired timers run before sockets are read: after the event loop was blocked, frames may lie there unread. Look once more behind them.
    setImmediate(() => {
      if (stopped) return;
      const leftMs = heardAt + silenceMs - performance.now();
      if (leftMs <= 0) onSilence();
      else timer = setTimeout(onTimer, leftMs);
    });
  }

  return {
    heard() {
      heardAt = performance.now();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function silenceError(subject: string, silenceMs: number): MeshError {
  return new MeshError('unavailable', `no sign of life from ${subject} for ${silenceMs} ms; try again`);
}

function deadlineError(): MeshError {
  return new MeshError('deadline_exceeded', 'the time given for the answer is over');
}

import { errorTable, type Frame, type Headers, header, type WireError } from '@agentmesh/protocol';
import { whenConnected } from '../gate.ts';
import type { Link, Packet } from '../link.ts';
import { encodeJson, headerText } from '../message.ts';

/** The way back to the caller of one request. */
export interface Replies {
  /**
   * @throws MeshError `invalid_argument` when the frame is too large or no JSON, `unavailable` when the broker is away
   */
  send(frame: Frame): Promise<void>;
  close(): void;
}

type Publish = (headers: Headers, bytes: Uint8Array) => void;

/** Numbered frames for who accepts them, the last word alone for who does not. */
export function createReplies(link: Link, request: Packet, replica: string, heartbeatMs: number): Replies {
  const subject = request.reply;
  // Only to an inbox: a request that names any other subject would have us speak there with our rights.
  if (!subject?.startsWith('_INBOX')) return { send: async () => {}, close() {} };
  const publish: Publish = (headers, bytes) =>
    link.send({ subject, headers: { ...headers, [header.replica]: replica }, bytes });
  return request.headers[header.accept] === 'frames'
    ? frameReplies(link, publish, heartbeatMs)
    : plainReply(link, publish);
}

function plainReply(link: Link, publish: Publish): Replies {
  return {
    async send(frame) {
      if (frame.type !== 'result' && frame.type !== 'error') return;
      const bytes = encodeJson(frame.data);
      if (!link.connected) await whenConnected(link);
      publish(frame.type === 'error' ? errorHeaders(frame.data) : {}, bytes);
    },
    close() {},
  };
}

function frameReplies(link: Link, publish: Publish, heartbeatMs: number): Replies {
  let seq = 0;
  const timer = setInterval(() => {
    // A heartbeat that waits for a connection would be a lie when it comes.
    if (!link.connected) return;
    try {
      put('heartbeat', {}, new Uint8Array());
    } catch {
      // The connection closes under us; nothing may escape from a timer.
    }
  }, heartbeatMs);

  /** Counts what went out, and only that: a frame that could not be sent leaves no gap. */
  function put(type: Frame['type'], headers: Headers, bytes: Uint8Array) {
    publish({ ...headers, [header.frame]: type, [header.seq]: String(seq) }, bytes);
    seq += 1;
    timer.refresh();
  }

  return {
    async send(frame) {
      if (frame.type === 'heartbeat') return;
      const bytes = encodeJson(frame.data);
      if (!link.connected) await whenConnected(link);
      put(frame.type, frame.type === 'error' ? errorHeaders(frame.data) : {}, bytes);
    },
    close: () => clearInterval(timer),
  };
}

function errorHeaders({ code, message }: WireError): Headers {
  return {
    [header.error]: headerText(message),
    [header.errorCode]: String(errorTable[code].natsCode),
  };
}

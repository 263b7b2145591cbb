import { errorTable, type Frame, type Headers, header, type WireError } from '@agentmesh/protocol';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import { whenConnected } from '../bus/when-connected.ts';
import { encodeJson } from '../messages/json.ts';
import { headerText } from '../messages/message-headers.ts';
import type { Callee } from './callee.ts';

/** The way back to the caller of one request. */
export interface Replies {
  /**
   * @throws MeshError `invalid_argument` when the frame is too large or no JSON, `unavailable` when the broker is away
   */
  send(frame: Frame): Promise<void>;
  close(): void;
}

/** The numbers of frames are given when they go out; until then, one as long as any. */
const anySeq = '9'.repeat(12);

interface Way {
  link: BrokerLink;
  /** Sends a reply that is small enough. */
  publish(packet: Packet): void;
  /** A reply without a payload. */
  bare(headers: Headers): Packet;
  /** A reply, small enough. */
  pack(headers: Headers, bytes: Uint8Array): Promise<Packet>;
}

/** Numbered frames for who accepts them, the last word alone for who does not. */
export function createReplies(
  { link, claims, replica, heartbeatMs }: Pick<Callee, 'link' | 'claims' | 'replica' | 'heartbeatMs'>,
  request: Packet,
): Replies {
  const subject = request.reply;
  // Only to an inbox: a request that names any other subject would have us speak there with our rights.
  if (!subject?.startsWith('_INBOX')) return { send: async () => {}, close() {} };
  const packetOf = (headers: Headers, bytes: Uint8Array): Packet => ({
    subject,
    headers: { ...headers, [header.replica]: replica },
    bytes,
  });
  const way: Way = {
    link,
    publish: (packet) => link.send(packet),
    bare: (headers) => packetOf(headers, new Uint8Array()),
    async pack(headers, bytes) {
      const small = await claims.shrink(packetOf(headers, bytes), 'news');
      if (!link.connected) await whenConnected(link);
      return small;
    },
  };
  return request.headers[header.accept] === 'frames' ? frameReplies(way, heartbeatMs) : plainReply(way);
}

function plainReply({ publish, pack }: Way): Replies {
  return {
    async send(frame) {
      if (frame.type !== 'result' && frame.type !== 'error') return;
      publish(await pack(frame.type === 'error' ? errorHeaders(frame.data) : {}, encodeJson(frame.data)));
    },
    close() {},
  };
}

function frameReplies({ link, publish, bare, pack }: Way, heartbeatMs: number): Replies {
  let seq = 0;
  const timer = setInterval(() => {
    // A heartbeat that waits for a connection would be a lie when it comes.
    if (!link.connected) return;
    try {
      put(bare(frameHeaders('heartbeat')));
    } catch {
      // The connection closes under us; nothing may escape from a timer.
    }
  }, heartbeatMs);

  /** Counts what went out, and only that: a frame that could not be sent leaves no gap. */
  function put(packet: Packet) {
    publish({ ...packet, headers: { ...packet.headers, [header.seq]: String(seq) } });
    seq += 1;
    timer.refresh();
  }

  return {
    async send(frame) {
      if (frame.type === 'heartbeat') return;
      const headers = frame.type === 'error' ? errorHeaders(frame.data) : {};
      put(await pack({ ...headers, ...frameHeaders(frame.type) }, encodeJson(frame.data)));
    },
    close: () => clearInterval(timer),
  };
}

function frameHeaders(type: Frame['type']): Headers {
  return { [header.frame]: type, [header.seq]: anySeq };
}

function errorHeaders({ code, message }: WireError): Headers {
  return {
    [header.error]: headerText(message),
    [header.errorCode]: String(errorTable[code].natsCode),
  };
}

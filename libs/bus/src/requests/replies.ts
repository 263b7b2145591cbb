import { errorTable, type Frame, type Headers, header, type WireError } from '@agentmesh/protocol';
import type { BrokerLink, Packet } from '../bus/broker-link.ts';
import { whenConnected } from '../bus/when-connected.ts';
import { encodeJson } from '../messages/json.ts';
import { headerText } from '../messages/message-headers.ts';
import { isForeignReply, isReplySubject } from '../messages/subject.ts';
import type { Callee } from './callee.ts';

/** The way back to the caller of one request. */
export interface Replies {
  /**
   * Sends a frame to the caller. The frame `accepted` goes before the first frame that is no answer: a quick answer
   * is a single frame.
   *
   * @throws MeshError `invalid_argument` when the frame is too large or not JSON, `unavailable` when the
   * broker is away
   */
  send(frame: Frame): Promise<void>;
  /**
   * Ends the replies. For a caller in another account it sends an empty message, at which nats-server forgets
   * the way back. The caller ignores this message, which comes after the answer.
   */
  close(): void;
}

/**
 * The placeholder for the number of a frame, which is set when the frame goes out. It is as long as the
 * longest number.
 */
const anySeq = '9'.repeat(12);

interface ReplyPath {
  link: BrokerLink;
  /** Sends a reply that is small enough. */
  publish(packet: Packet): void;
  /** Ends the replies, in the same write to the socket as an answer that was published just before. */
  end(): void;
  /** Makes a reply that is known to be small. */
  small(headers: Headers, bytes?: Uint8Array): Packet;
  /** Makes a reply that is small enough. */
  pack(headers: Headers, bytes: Uint8Array): Promise<Packet>;
}

/**
 * Makes the replies to a request: numbered frames for a caller that accepts them, else only the result or the
 * error.
 */
export function createReplies(
  { link, claims, replica, heartbeatMs }: Pick<Callee, 'link' | 'claims' | 'replica' | 'heartbeatMs'>,
  request: Packet,
): Replies {
  const subject = request.reply;
  // Replies go only to an inbox: a request could otherwise make us publish on any subject with our rights.
  if (!isReplySubject(subject)) return { send: async () => {}, close() {} };
  const packetOf = (headers: Headers, bytes: Uint8Array): Packet => ({
    subject,
    headers: { ...headers, [header.replica]: replica },
    bytes,
  });
  let hasEnded = !isForeignReply(subject);
  const path: ReplyPath = {
    link,
    publish: (packet) => link.send(packet),
    end() {
      if (!hasEnded) sendEnd(link, subject);
      hasEnded = true;
    },
    small: (headers, bytes = new Uint8Array()) => packetOf(headers, bytes),
    async pack(headers, bytes) {
      const small = await claims.shrink(packetOf(headers, bytes), 'news');
      if (!link.connected) await whenConnected(link);
      return small;
    },
  };
  const replies =
    request.headers[header.accept] === 'frames' ? frameReplies(path, replica, heartbeatMs) : plainReply(path);
  return {
    ...replies,
    close() {
      replies.close();
      path.end();
    },
  };
}

function sendEnd(link: BrokerLink, subject: string): void {
  if (!link.connected) return;
  try {
    link.send({ subject, headers: {}, bytes: new Uint8Array() });
  } catch {
    // The connection has just closed. The server forgets the way back by itself later.
  }
}

function plainReply({ publish, end, pack }: ReplyPath): Replies {
  return {
    async send(frame) {
      if (frame.type !== 'result' && frame.type !== 'error') return;
      publish(await pack(frame.type === 'error' ? errorHeaders(frame.data) : {}, encodeJson(frame.data)));
      end();
    },
    close() {},
  };
}

function frameReplies(
  { link, publish, end, small, pack }: ReplyPath,
  replica: string,
  heartbeatMs: number,
): Replies {
  let seq = 0;
  const timer = setInterval(() => {
    // A sign of life that waited for the connection would be out of date on its arrival.
    if (!link.connected) return;
    try {
      if (seq === 0) accept();
      else put(small(frameHeaders('heartbeat')));
    } catch {
      // The connection has just closed. A timer must not throw.
    }
  }, heartbeatMs);

  /**
   * Sends a frame under the next number. Counts only frames that went out: a frame that could not be sent
   * leaves no gap.
   */
  function put(packet: Packet) {
    publish({ ...packet, headers: { ...packet.headers, [header.seq]: String(seq) } });
    seq += 1;
    timer.refresh();
  }

  function accept() {
    put(small(frameHeaders('accepted'), encodeJson({ replica })));
  }

  return {
    async send(frame) {
      if (frame.type === 'heartbeat' || frame.type === 'accepted') return;
      const isAnswer = frame.type === 'result' || frame.type === 'error';
      const headers = frame.type === 'error' ? errorHeaders(frame.data) : {};
      const packet = await pack({ ...headers, ...frameHeaders(frame.type) }, encodeJson(frame.data));
      if (seq === 0 && !isAnswer) accept();
      put(packet);
      if (isAnswer) end();
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

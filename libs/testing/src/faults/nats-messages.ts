import type { Direction, TcpProxyOptions } from './tcp-proxy.ts';

/** A message as it passes between a client and a NATS server. */
export interface PassingMessage {
  /** `up`: a client publishes it; `down`: the server delivers it. */
  direction: Direction;
  subject: string;
  /** Header block and payload as text. */
  body: string;
}

/** What becomes of a message: it passes, passes twice, or is lost. */
export type MessageFate = 'pass' | 'duplicate' | 'drop';

/**
 * Decides over every message on its way to or from a NATS server; everything else of the protocol passes untouched. For the option `rewrite`
 * of `startTcpProxy`. A server that is told `Nats-Msg-Id` drops a duplicate by itself, and a client drops an answer that it does not wait for.
 *
 * Follows https://docs.nats.io/reference/reference-protocols/nats-protocol; a connection that is upgraded to TLS cannot be read.
 */
export function natsMessages(
  decide: (message: PassingMessage) => MessageFate,
): NonNullable<TcpProxyOptions['rewrite']> {
  return (direction) => {
    let held: Buffer = Buffer.alloc(0);
    return (bytes) => {
      held = Buffer.concat([held, bytes]);
      const out: Buffer[] = [];
      for (let frame = firstFrame(held); frame; frame = firstFrame(held)) {
        held = held.subarray(frame.bytes.length);
        const { subject, body } = frame;
        const fate = subject === undefined ? 'pass' : decide({ direction, subject, body });
        if (fate !== 'drop') out.push(frame.bytes);
        if (fate === 'duplicate') out.push(frame.bytes);
      }
      return Buffer.concat(out);
    };
  };
}

interface ProtocolFrame {
  bytes: Buffer;
  /** Of a message. */
  subject?: string;
  body: string;
}

const messageLine = /^(?:H?PUB|H?MSG)[ \t]+(\S+)(?:[ \t]+\S+)*?[ \t]+(\d+)$/i;

/** The first whole operation in the bytes: a line, and with it the payload that a message has. */
function firstFrame(bytes: Buffer): ProtocolFrame | undefined {
  const end = bytes.indexOf('\r\n');
  if (end === -1) return undefined;
  const start = end + 2;
  const [, subject, size] = messageLine.exec(bytes.toString('latin1', 0, end)) ?? [];
  if (subject === undefined) return { bytes: bytes.subarray(0, start), body: '' };
  const length = start + Number(size) + 2;
  if (bytes.length < length) return undefined;
  return { bytes: bytes.subarray(0, length), subject, body: bytes.toString('utf8', start, length - 2) };
}

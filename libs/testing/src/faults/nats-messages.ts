import type { Direction, TcpProxyOptions } from './tcp-proxy.ts';

/** A message on its way between a client and a NATS server. */
export interface PassingMessage {
  /** `up` for a message that a client publishes, `down` for a message that the server delivers. */
  direction: Direction;
  subject: string;
  /** The header block and the payload as text. */
  body: string;
}

/** The fate of a message: it passes, passes twice, or is lost. */
export type MessageFate = 'pass' | 'duplicate' | 'drop';

/**
 * Makes a function for the option `rewrite` of `startTcpProxy` that decides the fate of each message to or
 * from a NATS server. All other bytes of the protocol pass unchanged. A server drops the duplicate of a
 * message with `Nats-Msg-Id`, and a client drops an answer that it does not wait for.
 *
 * Follows https://docs.nats.io/reference/reference-protocols/nats-protocol. It cannot read a connection that
 * uses TLS.
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
  /** The subject of a message; absent for other operations. */
  subject?: string;
  body: string;
}

const messageLine = /^(?:H?PUB|H?MSG)[ \t]+(\S+)(?:[ \t]+\S+)*?[ \t]+(\d+)$/i;

/** Returns the first complete operation in the bytes: a line, and for a message its payload. */
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

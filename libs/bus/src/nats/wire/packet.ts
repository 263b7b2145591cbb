import type { Headers } from '@agentmesh/protocol';
import { headers as createHeaders, type Msg, type MsgHdrs } from '@nats-io/nats-core';
import type { Packet } from '../../bus/broker-link.ts';
import { canonicalHeader } from '../../messages/message-headers.ts';

/** Turns a message of the NATS client into a packet. */
export function toPacket(msg: Msg): Packet {
  return {
    subject: msg.subject,
    headers: fromNatsHeaders(msg.headers),
    bytes: msg.data,
    reply: msg.reply || undefined,
    noResponders: statusOf(msg) === 503,
  };
}

/**
 * Returns the status number of a message of the server itself (100 heartbeat, 408 timeout, 503 no responders
 * …), else 0.
 */
export function statusOf(msg: Msg): number {
  return msg.data.length === 0 ? (msg.headers?.code ?? 0) : 0;
}

/** Returns the first value of each header. */
export function fromNatsHeaders(received: MsgHdrs | undefined): Headers {
  const headers: Headers = {};
  for (const [name, values] of received ?? []) headers[canonicalHeader(name)] = values[0] ?? '';
  return headers;
}

/**
 * Turns headers into headers of the client library.
 *
 * @throws the client's InvalidArgumentError for line breaks in a header
 */
export function toNatsHeaders(headers: Headers): MsgHdrs {
  const result = createHeaders();
  for (const [name, value] of Object.entries(headers)) result.set(name, value);
  return result;
}

import type { Packet } from '../bus/broker-link.ts';
import type { Message } from '../bus/bus.ts';
import { decodeJson } from './json.ts';

/** Makes a message for handlers of a packet. */
export function createMessage(packet: Packet): Message {
  const { subject, headers, bytes } = packet;
  return { subject, headers, bytes, json: () => decodeJson(bytes) };
}

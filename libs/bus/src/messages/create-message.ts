import type { Packet } from '../bus/broker-link.ts';
import type { Message } from '../bus/bus.ts';
import { decodeJson } from './json.ts';

/** Turns a packet into a message for handlers. */
export function createMessage(packet: Packet): Message {
  const { subject, headers, bytes } = packet;
  return { subject, headers, bytes, json: () => decodeJson(bytes) };
}

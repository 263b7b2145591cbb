import { MeshError } from '@agentmesh/protocol';
import type { Packet } from '../bus/broker-link.ts';

const encoder = new TextEncoder();

/**
 * Far more than headers take, in bytes: a packet that is below the limit by this much need not be measured.
 */
const headerRoom = 64 * 1024;

/** Tells whether payload and headers are within the broker's limit in bytes. */
export function fits(packet: Packet, limit: number): boolean {
  return packet.bytes.length + headerRoom < limit || sizeOf(packet) <= limit;
}

function sizeOf({ bytes, headers }: Packet): number {
  // `NATS/1.0`, the header lines, and an empty line.
  const lines = Object.entries(headers).map(
    ([name, value]) => encoder.encode(`${name}: ${value}\r\n`).length,
  );
  return lines.reduce((sum, length) => sum + length, bytes.length + 12);
}

/**
 * Refuses a packet whose payload and headers are over the broker's limit in bytes.
 *
 * @throws MeshError `invalid_argument`
 */
export function assertSize(packet: Packet, limit: number): void {
  if (fits(packet, limit)) return;
  throw new MeshError(
    'invalid_argument',
    `a message of ${sizeOf(packet)} bytes, ${packet.bytes.length} of them payload, is over the server's limit of ${limit}; send less`,
  );
}

import type { Random } from '@agentmesh/testing';

/** Returns a number in [from, to). */
export function between(random: Random, from: number, to: number): number {
  return from + random.next() * (to - from);
}

/** Fills an array with random bytes. */
export function fillBytes<T extends ArrayBufferView>(random: Random, into: T): T {
  const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(random.next() * 256);
  return into;
}

/** Returns a UUID of version 4. */
export function uuidOf(random: Random): `${string}-${string}-${string}-${string}-${string}` {
  const hex = Buffer.from(fillBytes(random, new Uint8Array(16))).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

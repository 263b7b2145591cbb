import { deadlineOf, type Headers, header, MeshError } from '@agentmesh/protocol';
import type { Message } from './bus.ts';
import type { Packet } from './link.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** A packet as handlers see it. */
export function createMessage(packet: Packet): Message {
  const { subject, headers, bytes } = packet;
  return { subject, headers, bytes, json: () => decodeJson(bytes) };
}

/** @throws MeshError `invalid_argument` for what JSON cannot hold */
export function encodeJson(payload: unknown): Uint8Array {
  try {
    const text = JSON.stringify(payload);
    return encoder.encode(text ?? '');
  } catch (cause) {
    throw new MeshError('invalid_argument', 'the payload cannot be written as JSON', { cause });
  }
}

/** No bytes are `undefined`. @throws MeshError `invalid_argument` */
export function decodeJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw new MeshError('invalid_argument', 'the payload is not JSON', { cause });
  }
}

const canonicalNames = new Map(Object.values(header).map((name) => [name.toLowerCase(), name]));

/** Our own header names in our spelling, however another client spelled them; others stay. */
export function canonicalHeader(name: string): string {
  return canonicalNames.get(name.toLowerCase()) ?? name;
}

/** Headers of who sends, without the one that names a payload: that is the bus' to say. */
export function givenHeaders(headers: Headers = {}): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => canonicalHeader(name) !== header.claim),
  );
}

/** A header cannot hold line breaks, and is not the place for long texts. */
export function headerText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get into a header
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, 256);
}

const literalSubject = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

/** A subject that one can send to: no wildcards, no empty tokens. @throws MeshError `invalid_argument` */
export function assertSubject(subject: string): string {
  if (literalSubject.test(subject)) return subject;
  throw new MeshError('invalid_argument', `cannot send to subject ${JSON.stringify(subject)}`);
}

/** Milliseconds until the deadline in the headers, `undefined` without one (or with one that cannot be read). */
export function remainingMs(headers: Headers): number | undefined {
  const deadline = deadlineOf(headers);
  return deadline === undefined ? undefined : deadline - Date.now();
}

/** The longest delay that a timer takes; a longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** Without an id nothing is recognised as a repetition. @throws MeshError `invalid_argument` */
export function assertMessageId({ headers }: Packet): void {
  if (!headers[header.messageId]) throw new MeshError('invalid_argument', 'a message id must not be empty');
}

/** Far above what headers take: below it they need not be measured. */
const headerRoom = 64 * 1024;

/** Are payload and headers within the broker's limit in bytes? */
export function fits(packet: Packet, limit: number): boolean {
  return packet.bytes.length + headerRoom < limit || sizeOf(packet) <= limit;
}

function sizeOf({ bytes, headers }: Packet): number {
  // `NATS/1.0`, the lines, an empty line.
  const lines = Object.entries(headers).map(
    ([name, value]) => encoder.encode(`${name}: ${value}\r\n`).length,
  );
  return lines.reduce((sum, length) => sum + length, bytes.length + 12);
}

/** @throws MeshError `invalid_argument` when payload and headers are over the broker's limit in bytes */
export function assertSize(packet: Packet, limit: number): void {
  if (fits(packet, limit)) return;
  throw new MeshError(
    'invalid_argument',
    `a message of ${sizeOf(packet)} bytes, ${packet.bytes.length} of them payload, is over the server's limit of ${limit}; send less`,
  );
}

import { type Headers, header, MeshError } from '@agentmesh/protocol';
import type { Packet } from '../bus/broker-link.ts';

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

/** Makes a text fit for a header, which cannot hold line breaks, and is not the place for long texts. */
export function headerText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get into a header
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, 256);
}

/** Refuses a packet without a message id: without one, nothing is recognised as a repetition. @throws MeshError `invalid_argument` */
export function assertMessageId({ headers }: Packet): void {
  if (!headers[header.messageId]) throw new MeshError('invalid_argument', 'a message id must not be empty');
}

import { aloneHeader, type Headers, header, MeshError } from '@agentmesh/protocol';
import type { Packet } from '../bus/broker-link.ts';

const canonicalNames = new Map(Object.values(header).map((name) => [name.toLowerCase(), name]));

/**
 * Returns the name of one of our headers in our spelling, however a client spells it. Other names stay as
 * they are.
 */
export function canonicalHeader(name: string): string {
  return canonicalNames.get(name.toLowerCase()) ?? name;
}

/** Returns the sender's headers without those that only the bus sets: it names payloads, and says when one is alone. */
export function givenHeaders(headers: Headers = {}): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => canonicalHeader(name) !== header.claim && name !== aloneHeader,
    ),
  );
}

export function withoutAlone({ [aloneHeader]: _alone, ...headers }: Headers): Headers {
  return headers;
}

/** Shortens a text for a header, and replaces line breaks, which a header cannot hold. */
export function headerText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not get into a header
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, 256);
}

/**
 * Refuses a packet without a message id, which the broker needs to recognise a repetition.
 *
 * @throws MeshError `invalid_argument`
 */
export function assertMessageId({ headers }: Packet): void {
  if (!headers[header.messageId]) throw new MeshError('invalid_argument', 'a message id must not be empty');
}

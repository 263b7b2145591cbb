import { MeshError } from '@agentmesh/protocol';

const literalSubject = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

/**
 * Returns a subject to which a message can be sent: without wildcards and empty tokens.
 *
 * @throws MeshError `invalid_argument`
 */
export function assertSubject(subject: string): string {
  if (literalSubject.test(subject)) return subject;
  throw new MeshError(
    'invalid_argument',
    `cannot send to subject ${JSON.stringify(subject)}; use tokens without spaces and wildcards`,
  );
}

/**
 * Tells whether answers may be sent to a subject: an inbox, or the stand-in (`_R_.…`) that nats-server makes
 * for the inbox of a caller in another account. Any other subject could make a service publish there with its
 * own rights.
 */
export function isReplySubject(subject: string | undefined): subject is string {
  return subject !== undefined && (subject.startsWith('_INBOX') || isForeignReply(subject));
}

/** Tells whether answers to a subject leave the account of the service. */
export function isForeignReply(subject: string): boolean {
  return subject.startsWith('_R_.');
}

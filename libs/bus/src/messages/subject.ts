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

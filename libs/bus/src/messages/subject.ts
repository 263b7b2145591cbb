import { MeshError } from '@agentmesh/protocol';

const literalSubject = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

/** A subject that one can send to: no wildcards, no empty tokens. @throws MeshError `invalid_argument` */
export function assertSubject(subject: string): string {
  if (literalSubject.test(subject)) return subject;
  throw new MeshError('invalid_argument', `cannot send to subject ${JSON.stringify(subject)}`);
}

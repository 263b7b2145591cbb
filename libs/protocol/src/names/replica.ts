import { randomBytes } from 'node:crypto';
import { encodeName } from './token.ts';

/** Makes an id for this process among the replicas of a service: `<service>-<pid>-<random>`, one token. */
export function createReplicaId(service: string): string {
  return encodeName(`${service}-${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** Tells whether a value is the id of a replica of this service. */
export function isReplicaOf(replica: unknown, service: string): boolean {
  if (typeof replica !== 'string') return false;
  const start = `${encodeName(service)}-`;
  return replica.startsWith(start) && /^\d+-[0-9a-f]{8}$/.test(replica.slice(start.length));
}

import { PermissionViolationError } from '@nats-io/nats-core';
import { rootCause } from './nats-errors.ts';

/**
 * Tells whether the server gave this process no right to publish or to subscribe. It stands alone: its declaration names
 * no type of the client of NATS, whose own declarations strict projects refuse.
 */
export function isDenied(thrown: unknown): boolean {
  return rootCause(thrown) instanceof PermissionViolationError;
}

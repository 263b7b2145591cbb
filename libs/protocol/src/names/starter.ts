import { createHash } from 'node:crypto';
import type { SessionRef } from './subjects.ts';

/** A starter in the id of an invocation: `e-s1a2b3c4d-…`. */
const starterInId = /^e-(s[0-9a-f]{8})-/;

/** The length of the first group of a UUID, in characters. */
const markLength = 8;

/** The token of invocations whose id names no starter. */
export const noStarter = 'none';

/** Makes a name for a process that starts runs, such as `s1a2b3c4d`. Two processes that draw one name hear each other's runs. */
export function newStarter(): string {
  return `s${crypto.randomUUID().slice(0, 8)}`;
}

/** Makes the id of an invocation that a process starts in a session. */
export function invocationIdOf(starter: string, session: SessionRef): string {
  return `e-${starter}-${markOf(session)}${crypto.randomUUID().slice(markLength)}`;
}

/**
 * Tells whether a process made this id for an invocation of this session. Anybody can write such an id: it says whose
 * an invocation may be, and gives no right.
 */
export function isStartedIn(invocationId: string, session: SessionRef): boolean {
  const starter = starterOf(invocationId);
  return starter !== noStarter && invocationId.startsWith(`e-${starter}-${markOf(session)}-`);
}

/** Returns the digits by which the id of an invocation names its session. */
function markOf({ appName, userId, sessionId }: SessionRef): string {
  const name = JSON.stringify([appName, userId, sessionId]);
  return createHash('sha256').update(name).digest('hex').slice(0, markLength);
}

/**
 * Returns the process that started an invocation, as the id says: `none` for an id without a starter. The subjects of
 * events name it, so that a process hears all its runs by one subscription.
 */
export function starterOf(invocationId: string): string {
  return starterInId.exec(invocationId)?.[1] ?? noStarter;
}

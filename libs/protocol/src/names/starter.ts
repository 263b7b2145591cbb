/** A starter in the id of an invocation: `e-s1a2b3c4d-…`. */
const starterInId = /^e-(s[0-9a-f]{8})-/;

/** The token of invocations whose id names no starter. */
export const noStarter = 'none';

/** Makes a name for a process that starts runs, such as `s1a2b3c4d`. Two processes that draw one name hear each other's runs. */
export function newStarter(): string {
  return `s${crypto.randomUUID().slice(0, 8)}`;
}

/** Makes the id of an invocation that a process starts. */
export function invocationIdOf(starter: string): string {
  return `e-${starter}-${crypto.randomUUID()}`;
}

/**
 * Returns the process that started an invocation, as the id says: `none` for an id without a starter. The subjects of
 * events name it, so that a process hears all its runs by one subscription.
 */
export function starterOf(invocationId: string): string {
  return starterInId.exec(invocationId)?.[1] ?? noStarter;
}

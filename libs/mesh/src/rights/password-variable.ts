import { createHash } from 'node:crypto';

/**
 * Returns the name of the variable that holds the password of a user: the name in capitals, where that says it all. A
 * name with other characters gets a piece of its hash too, so that two users never share a variable.
 */
export function passwordVariable(prefix: string, user: string): string {
  const word = user.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  if (/^[a-z0-9]+(?:_[a-z0-9]+)*$/.test(user)) return `${prefix}_${word}`;
  const hash = createHash('sha256').update(user).digest('hex').slice(0, 8).toUpperCase();
  return `${prefix}_${word}__${hash}`;
}

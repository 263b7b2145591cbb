import { createHash } from 'node:crypto';

/** A megabyte in base64. */
const bytes = 750_000;

/**
 * Returns the nth megabyte of a file, from 0: words and lines. The replicas share no disk, so the file is
 * made from its name and is the same in every process.
 */
export function readPart(name: string, part: number): string {
  const hash = createHash('shake256', { outputLength: bytes }).update(`${name}/${part}`);
  const text = hash.digest('base64').replaceAll(/[A-J]/g, ' ').replaceAll('/', '\n');
  return `${text.slice(0, -1)}\n`;
}

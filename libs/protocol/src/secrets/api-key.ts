import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The first characters of each API key, by which people and scanners of secrets recognise it. */
export const apiKeyPrefix = 'amk_';

/** Number of random bytes of a key. */
const keyBytes = 32;
const form = new RegExp(`^${apiKeyPrefix}([\\w-]{43})([\\w-]{6})$`);

/** Makes an API key: the prefix, 256 random bits, and a checksum. */
export function newApiKey(): string {
  const random = randomBytes(keyBytes).toString('base64url');
  return `${apiKeyPrefix}${random}${checksumOf(random)}`;
}

/** Tells whether a text has the form of an API key, checksum included: a mistyped key has not. */
export function isApiKey(text: string): boolean {
  const [, random, checksum] = form.exec(text) ?? [];
  return random !== undefined && checksumOf(random) === checksum;
}

/** Returns the hash under which a key is stored. A key has 256 random bits, so a fast hash is enough. */
export function apiKeyHash(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

function checksumOf(random: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(random));
  return bytes.toString('base64url');
}

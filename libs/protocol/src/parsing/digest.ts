import { createHash } from 'node:crypto';

/** Makes a fingerprint of a JSON value: 43 characters of base64url (SHA-256). The order of keys does not matter. */
export function digestOf(value: unknown): string {
  const text = JSON.stringify(value ?? null, (_key, each: unknown) => inOrder(each));
  return createHash('sha256').update(text).digest('base64url');
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

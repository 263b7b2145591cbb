import { MeshError } from '../errors/mesh-error.ts';

/**
 * The length of the longest encoded token. It keeps each of our subjects under 512 bytes (a server refuses
 * 4,096).
 */
export const maxTokenLength = 96;
/**
 * The length of the longest encoded name of a tool or a service. NATS accepts no longer name of a consumer.
 */
export const maxNameTokenLength = 255;

const safe = /^[A-Za-z0-9_-]+$/;
const canonical = /^(?:=|(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+)$/;

/**
 * Encodes any text as one token of a NATS subject, which is also a safe part of a Redis key and of a
 * key-value bucket's key: letters, digits, `_` and `-` stay, every other UTF-8 byte becomes `=HH`, the empty
 * text `=`. Reversible and canonical: different texts give different tokens.
 *
 * @throws MeshError `invalid_argument` for ill-formed Unicode or a token over {@link maxTokenLength}
 * characters.
 */
export function encodeToken(text: string): string {
  return encodeWithin(text, maxTokenLength);
}

/**
 * Encodes the name of an agent, a tool or a service in the same way. The names of tools may be longer than
 * ids.
 *
 * @throws MeshError `invalid_argument` for ill-formed Unicode or a token over {@link maxNameTokenLength}
 * characters.
 */
export function encodeName(name: string): string {
  return encodeWithin(name, maxNameTokenLength);
}

function encodeWithin(text: string, limit: number): string {
  const token = safe.test(text) ? text : encodeUnsafe(text);
  if (token.length <= limit) return token;
  throw new MeshError(
    'invalid_argument',
    `a name of ${token.length} encoded characters is too long; use at most ${limit}`,
  );
}

/** Tells whether a text can be encoded as a token. */
export function isToken(text: string): boolean {
  try {
    encodeToken(text);
    return true;
  } catch {
    return false;
  }
}

function encodeUnsafe(text: string): string {
  if (text === '') return '=';
  if (!text.isWellFormed()) throw new MeshError('invalid_argument', 'a name must be well-formed Unicode');
  let token = '';
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte);
    token += safe.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return token;
}

/**
 * Decodes a token of {@link encodeToken}.
 *
 * @throws MeshError `invalid_argument` for a text that `encodeToken` never returns.
 */
export function decodeToken(token: string): string {
  if (token === '=') return '';
  const bytes: number[] = [];
  if (canonical.test(token)) {
    for (let at = 0; at < token.length; at += 1) {
      const escaped = token[at] === '=';
      bytes.push(escaped ? Number.parseInt(token.slice(at + 1, at + 3), 16) : token.charCodeAt(at));
      if (escaped) at += 2;
    }
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
    if (encodeUnsafe(text) === token) return text;
  }
  throw new MeshError('invalid_argument', 'not an encoded name; encode names with encodeToken');
}

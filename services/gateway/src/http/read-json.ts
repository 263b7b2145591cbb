import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { changedNumber, type JsonSource, MeshError, withoutMark } from '@agentmesh/protocol';

/**
 * The most lists and objects of a body, and how deep they may be nested: `JSON.parse` makes sixty bytes of each, so a
 * body of 10 MB could take some hundred MB.
 */
const most = { values: 500_000, depth: 1_000 };

const [quote, backslash] = [0x22, 0x5c];

/**
 * Reads the JSON of a body.
 *
 * @throws MeshError `invalid_argument` for bytes that are no UTF-8, for a text that is no JSON or has too many values, and
 * for what would not come back as it was sent: the key `__proto__`, which programs lose or take for the prototype of an
 * object, a number that is too large, a whole number that would become another one, and half of a character
 */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes))
    throw new MeshError('invalid_argument', 'the body is not UTF-8; send JSON in this encoding');
  const text = withoutMark(bytes.toString());
  assertModest(text);
  try {
    return mayBeLost.test(text) ? JSON.parse(text, keptValue) : JSON.parse(text);
  } catch (cause) {
    if (cause instanceof MeshError) throw cause;
    throw new MeshError('invalid_argument', `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Finds texts that may have a value to refuse: the key `__proto__`, as it is or with some of its letters escaped; an
 * escaped half of a character; a number of 16 digits, or with an exponent of three.
 */
const mayBeLost = /__proto__|\\u(?:00(?:5f|6f|7[024])|d[89a-f])|\d[eE]\+?\d{3}|\d{16}/i;

function keptValue(key: string, value: unknown, { source }: JsonSource = {}): unknown {
  if (key === '__proto__')
    throw new MeshError('invalid_argument', 'the body has the key __proto__; choose another name');
  const lost = lostIn(key, value) ?? changedNumber(value, source);
  if (lost === undefined) return value;
  throw new MeshError(
    'invalid_argument',
    `the field ${JSON.stringify(key.toWellFormed())} of the body ${lost}`,
  );
}

/** Says why a value would not come back as it was sent; undefined when it would. */
function lostIn(key: string, value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value))
    return 'is a number of more than 300 digits; send it as a string';
  const isWhole = key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed());
  return isWhole ? undefined : 'has half of a character (a lone surrogate); send whole characters';
}

/** Looks at the lists and objects of a JSON text, and makes none. */
function assertModest(text: string): void {
  let [values, depth] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      continue;
    }
    if (isClosing(code)) depth -= 1;
    if (!isOpening(code)) continue;
    values += 1;
    depth += 1;
    if (depth > most.depth) throw tooMuch(`is nested more than ${most.depth} deep`);
    if (values > most.values) throw tooMuch(`has more than ${most.values} lists and objects`);
  }
}

// The codes of [ and {, and of ] and }.
const isOpening = (code: number) => code === 0x5b || code === 0x7b;
const isClosing = (code: number) => code === 0x5d || code === 0x7d;

/** Returns the place of the quote that ends a string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function tooMuch(what: string): MeshError {
  return new MeshError('invalid_argument', `the body ${what}; send less at once`);
}

/** The names of UTF-8, and of its part that older programs declare. */
const utf8Names = ['utf-8', 'utf8', 'us-ascii'];

/**
 * Checks that the body of a request is sent as it is: a compressed body would be taken for JSON, or stored as the bytes
 * of a file.
 *
 * @throws Error with the status 415 that names the header
 */
export function assertNotEncoded({ 'content-encoding': encoding }: IncomingHttpHeaders): void {
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw unsupported(
    `the header content-encoding is ${encoding}; send the body as it is, without this header`,
  );
}

/** Checks the charset of a JSON body. @throws Error with the status 415 that names it */
export function assertUtf8({ 'content-type': type = '' }: IncomingHttpHeaders): void {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1];
  if (charset === undefined || utf8Names.includes(charset.toLowerCase())) return;
  throw unsupported(`the charset ${charset} of the content-type is not read; send JSON in UTF-8`);
}

function unsupported(message: string): Error {
  return Object.assign(new Error(message), { statusCode: 415 });
}

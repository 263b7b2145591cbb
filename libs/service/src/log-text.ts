import type { DestinationStream } from 'pino';
import type { ErrorRecord } from './error-record.ts';
import { redacted } from './secret.ts';

/** Characters that JSON leaves as they are, and that end a line or control a terminal elsewhere. */
const unsafe = /[\u007f-\u009f\u2028\u2029]/g;
const unsafeInText = /[^\P{Cc}\n\t]|[\u2028\u2029]/gu;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function value(field: unknown): string {
  return typeof field === 'string' && /^[^\s"=]+$/.test(field) ? field : JSON.stringify(field);
}

function errorLines(error: ErrorRecord): string {
  const headline = error.stack ?? `${error.type}: ${error.message}`;
  return error.cause ? `${headline}\ncaused by ${errorLines(error.cause)}` : headline;
}

/**
 * Returns a JSON line of the logger as text for people: time, level, service, message, then the rest as
 * `key=value`.
 */
export function textLine(line: string): string {
  const { time, level, service, replica: _, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(rest).map(([key, field]) => ` ${key}=${value(field)}`);
  const text = `${msg ?? ''}${fields.join('')}`.replaceAll(unsafeInText, escaped);
  const head = `${clock} ${String(level).toUpperCase().padEnd(5)} ${service}: ${text}\n`;
  if (!err) return head;
  // errorRecord, the only serialiser of `err`, has made it.
  return `${head}${errorLines(err as ErrorRecord)
    .replaceAll(unsafeInText, escaped)
    .replace(/^/gm, '  ')}\n`;
}

/** Makes a destination that passes the logger's lines on as text. */
export function textDestination(to: DestinationStream): DestinationStream {
  return { write: (line) => to.write(textLine(line)) };
}

/** Makes a destination that passes on JSON lines, in which no text that a user gave looks like a further line. */
export function oneLineDestination(to: DestinationStream): DestinationStream {
  return { write: (line) => to.write(line.replaceAll(unsafe, escaped)) };
}

/** The names of fields whose values are secrets. */
export const secretKeys = [
  'password',
  'passwd',
  'secret',
  'clientSecret',
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'apiKey',
  'api_key',
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'x-goog-api-key',
  'credential',
  'authCredential',
];

const secretNames = new Set(secretKeys);
/** A key in JSON. In a string this text has a backslash before its last quotation mark, and so does not match. */
const secretKey = new RegExp(`"(?:${secretKeys.join('|')})":`);
const hide = (key: string, value: unknown) => (secretNames.has(key) ? redacted : value);

/** Makes a destination that passes JSON lines on without the values of fields with the names of secrets, at any depth. */
export function hidingDestination(to: DestinationStream): DestinationStream {
  return {
    // Nearly all lines name no secret: they are not parsed.
    write: (line) => to.write(secretKey.test(line) ? `${JSON.stringify(JSON.parse(line, hide))}\n` : line),
  };
}

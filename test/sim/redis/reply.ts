/**
 * A text of bytes: each character is one byte. Redis knows no characters, and this form is exact and fast in
 * JavaScript, in Lua and as a key of a `Map`.
 */
export type Bytes = string;

/** A reply that is a word of Redis itself, as `OK`; a string is a value. */
export class Status {
  readonly text: Bytes;

  constructor(text: Bytes) {
    this.text = text;
  }
}

export const ok = new Status('OK');

/** A reply of RESP2. Errors are thrown, except those within a reply. */
export type Reply = Bytes | number | null | Status | readonly Reply[];

/** An error that the server replies. It has the name by which the store knows replies of ioredis. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

export const wrongType = () =>
  new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value');
export const syntaxError = () => new ReplyError('ERR syntax error');
export const wrongNumber = (command: string) =>
  new ReplyError(`ERR wrong number of arguments for '${command}' command`);

/** Returns the bytes of a text in UTF-8. */
export function bytesOf(text: string): Bytes {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Returns the text of bytes in UTF-8. */
export function textOf(bytes: Bytes): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Tells whether each character is one byte in UTF-8. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

import { type Bytes, ReplyError } from './reply.ts';

/** Reads an integer as Redis does: without spaces, a plus sign or leading zeros. @throws ReplyError */
export function integerIn(
  text: Bytes | undefined,
  message = 'value is not an integer or out of range',
): number {
  const number = text !== undefined && /^(?:0|-?[1-9]\d{0,18})$/.test(text) ? Number(text) : Number.NaN;
  // Redis has 64 bits. A greater number than JavaScript counts exactly has no place in the store.
  if (Number.isSafeInteger(number)) return number;
  throw new ReplyError(`ERR ${message}`);
}

/** Reads a score. @throws ReplyError */
export function scoreIn(text: Bytes | undefined, message = 'value is not a valid float'): number {
  const number = text === undefined || /^\s|\s$/.test(text) ? Number.NaN : doubleIn(text);
  if (Number.isNaN(number)) throw new ReplyError(`ERR ${message}`);
  return number;
}

function doubleIn(text: Bytes): number {
  const infinite = /^([+-]?)inf(?:inity)?$/i.exec(text);
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

/** Writes a score in the shortest form that is exact, as Redis does since 7.2. */
export function scoreText(score: number): Bytes {
  if (score === Number.POSITIVE_INFINITY) return 'inf';
  if (score === Number.NEGATIVE_INFINITY) return '-inf';
  return Object.is(score, -0) ? '-0' : String(score);
}

/** A limit of a range of scores; `(` before the number leaves the limit itself out. */
export interface ScoreLimit {
  score: number;
  isExclusive: boolean;
}

/** @throws ReplyError */
export function scoreLimitIn(text: Bytes | undefined): ScoreLimit {
  const isExclusive = text?.startsWith('(') ?? false;
  return {
    score: scoreIn(isExclusive ? text?.slice(1) : text, 'min or max is not a float'),
    isExclusive,
  };
}

/** Returns the positions of a range of a list, whose ends may count from the back. */
export function rangeOf(from: number, to: number, length: number): { start: number; end: number } {
  const start = Math.max(from < 0 ? length + from : from, 0);
  const end = Math.min(to < 0 ? length + to : to, length - 1) + 1;
  return { start, end: Math.max(end, start) };
}

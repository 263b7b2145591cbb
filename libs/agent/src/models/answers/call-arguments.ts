/** Arguments that cannot be used: the text that the model sent, and the reason. */
export interface UnreadableArgs extends Record<string, unknown> {
  malformed_arguments: string;
  problem: string;
}

/** The most times that a server writes arguments as JSON, one around the other. */
const mostEncodings = 3;

/**
 * Reads the arguments of a call from their JSON text. Some servers write an object twice as JSON. Arguments that
 * cannot be read become {@link UnreadableArgs}: such a call is answered with the problem and never made.
 */
export function readArgs(json: string): Record<string, unknown> {
  try {
    let args = parseExactly(json);
    for (let times = 1; times < mostEncodings && typeof args === 'string'; times += 1)
      args = args.trim() === '' ? {} : parseExactly(args);
    if (isRecord(args)) return args;
    if (args === null) return {};
    return unreadable(json, 'the arguments are no JSON object');
  } catch (error) {
    if (error instanceof UnsafeNumber) return unreadable(json, error.message);
    return unreadable(json, 'the arguments are not JSON');
  }
}

/** Checks arguments that came as a value: an object, or by mistake its JSON text. */
export function checkArgs(args: unknown): Record<string, unknown> {
  if (!isRecord(args)) return readArgs(typeof args === 'string' ? args : JSON.stringify(args));
  const number = unsafeNumberIn(args);
  return number === undefined ? args : unreadable(JSON.stringify(args), unsafe(String(number)));
}

/** Returns the problem of unreadable arguments; undefined for all others. */
export function problemOfArgs(args: Record<string, unknown> | undefined): string | undefined {
  if (args === undefined || Object.keys(args).length !== 2) return undefined;
  const { malformed_arguments: text, problem } = args;
  return typeof text === 'string' && typeof problem === 'string' ? problem : undefined;
}

/**
 * Parses JSON whose whole numbers JavaScript can hold.
 *
 * @throws UnsafeNumber for another whole number, which would become a different number in silence; SyntaxError
 */
export function parseExactly(json: string): unknown {
  const check = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? ''))
      throw new UnsafeNumber(context?.source ?? '');
    return value;
  };
  return JSON.parse(json, check);
}

/** The error for a whole number beyond 2^53. */
class UnsafeNumber extends RangeError {
  constructor(digits: string) {
    super(unsafe(digits));
  }
}

function unsafe(digits: string): string {
  return `the number ${digits} is too large to be exact; send it as a string`;
}

/** Numbers of this size are written with an exponent, and are no counts or ids. */
const exponential = 1e21;

function unsafeNumberIn(value: unknown): number | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < exponential
      ? value
      : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const each of Object.values(value)) {
    const found = unsafeNumberIn(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

function unreadable(json: string, problem: string): UnreadableArgs {
  return {
    malformed_arguments: json.toWellFormed(),
    problem: `${problem}. Call it again with all of them right.`,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

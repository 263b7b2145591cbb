import { parseExactly, UnsafeNumber } from '../http/exact-json.ts';

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
    if (isRecord(args)) return isDeep(args, mostLevels) ? tooDeep() : args;
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
  if (isDeep(args, mostLevels)) return tooDeep();
  const number = unsafeNumberIn(args);
  if (number === undefined) return args;
  const text = JSON.stringify(args, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  return unreadable(text, new UnsafeNumber(String(number)).message);
}

/** Returns the problem of unreadable arguments; undefined for all others. */
export function problemOfArgs(args: Record<string, unknown> | undefined): string | undefined {
  if (args === undefined || Object.keys(args).length !== 2) return undefined;
  const { malformed_arguments: text, problem } = args;
  return typeof text === 'string' && typeof problem === 'string' ? problem : undefined;
}

/** Numbers of this size are written with an exponent, and are no counts or ids. */
const exponential = 1e21;

function unsafeNumberIn(value: unknown): number | bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return isSafe(value) ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const each of Object.values(value)) {
    const found = unsafeNumberIn(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isSafe(value: number): boolean {
  if (!Number.isInteger(value)) return Number.isFinite(value);
  return Number.isSafeInteger(value) || Math.abs(value) >= exponential;
}

/** The most levels of arguments. Arguments with more of them could not be stored. */
const mostLevels = 100;

/** Tells whether a value has more levels of objects and lists. */
function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeep(each, levels - 1));
}

function tooDeep(): UnreadableArgs {
  return unreadable('', `the arguments are nested more than ${mostLevels} deep`);
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

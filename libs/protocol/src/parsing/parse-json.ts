import { MeshError } from '../errors/mesh-error.ts';

/** The third argument of a reviver of `JSON.parse`: the text of a number, a string or a constant. */
export interface JsonSource {
  source?: string;
}

/** Finds texts with a whole number that may change. */
const mayChange = /\d{16}/;

/**
 * Reads JSON that any program may have written. A byte order mark is left out.
 *
 * @throws SyntaxError for a text that is no JSON
 * @throws MeshError `invalid_argument` that names the field of a whole number that would become another one
 */
export function parseJson(text: string): unknown {
  const json = withoutMark(text);
  return mayChange.test(json) ? JSON.parse(json, kept) : JSON.parse(json);
}

/** Leaves out the byte order mark, which some editors and libraries write before a text. */
export const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

function kept(key: string, value: unknown, { source }: JsonSource = {}): unknown {
  const changed = changedNumber(value, source);
  if (changed !== undefined)
    throw new MeshError('invalid_argument', `the field ${JSON.stringify(key.toWellFormed())} ${changed}`);
  return value;
}

/** Says that a whole number is not the one that was written; undefined for every other value. */
export function changedNumber(value: unknown, source: string | undefined): string | undefined {
  if (typeof value !== 'number' || source === undefined || !/^-?\d{16,}$/.test(source)) return undefined;
  if (String(value) === source || Number.isSafeInteger(value)) return undefined;
  return `is the whole number ${source.slice(0, 40)}, which a JSON number of JavaScript does not hold; send it as a string`;
}

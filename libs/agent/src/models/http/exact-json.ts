/**
 * Parses JSON whose numbers JavaScript can hold.
 *
 * @throws UnsafeNumber for another number, which would become a different number in silence; SyntaxError
 */
export function parseExactly(json: string): unknown {
  return revive(json, (_key, value, { source = '' }) => {
    if (isLossy(value, source)) throw new UnsafeNumber(source);
    return value;
  });
}

/** Text that may hold such a number: many digits before a point, or a large exponent. */
const suspect = /(?<![\d.])\d{16}|\de\+?\d{3}/i;

/**
 * Parses JSON for a client that parses it once more. A number that JavaScript cannot hold becomes the first whole number
 * that is not exact, so that the reader of arguments can refuse it.
 */
export function parseMarked(json: string): unknown {
  if (!suspect.test(json)) return JSON.parse(json);
  return revive(json, (_key, value, { source = '' }) =>
    isLossy(value, source) ? Math.sign(Number(value)) * 2 ** 53 : value,
  );
}

/** Parses JSON. The third argument of the function has the text of a plain value: TypeScript does not know it. */
const revive = JSON.parse as (
  json: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/** Tells whether a value is a number that its text does not say: a whole number beyond 2^53, or none at all. */
function isLossy(value: unknown, source: string): boolean {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return false;
  return !Number.isFinite(value) || /^-?\d+(?:\.0*)?$/.test(source);
}

/** The error for a number that JavaScript cannot hold. */
export class UnsafeNumber extends RangeError {
  constructor(digits: string) {
    super(`the number ${digits} is too large to be exact; send it as a string`);
  }
}

import { MeshError } from '../errors/mesh-error.ts';

/** A key of a state or a state delta, and its value as JSON. */
export type JsonEntry = [key: string, json: string];

/**
 * Writes a value as JSON that can be read back without loss. `undefined` in objects is dropped, and halves of
 * characters become U+FFFD: strict models and parsers refuse them.
 *
 * @throws MeshError `invalid_argument` for values that JSON drops or changes: functions, symbols, BigInt,
 * NaN, cycles, Map, Set, `undefined` in lists, and objects whose `toJSON` gives nothing
 */
export function toJson(value: unknown, what: string): string {
  try {
    const json: string | undefined = JSON.stringify(value, refuseLoss);
    if (json === undefined) throw new TypeError('it has no text');
    return json;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError('invalid_argument', `${what} is not JSON: ${why}`, { cause });
  }
}

function refuseLoss(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  const lossy =
    ['function', 'symbol', 'bigint'].includes(typeof value) ||
    (typeof value === 'number' && !Number.isFinite(value)) ||
    (value === undefined && (Array.isArray(this) || Reflect.get(Object(this), key) !== undefined)) ||
    value instanceof Map ||
    value instanceof Set;
  if (!lossy) return value;
  const kind = typeof value === 'object' ? value?.constructor.name : `${typeof value} ${String(value)}`;
  throw new TypeError(`${key === '' ? 'it' : JSON.stringify(key)} is a ${kind}`);
}

/** Returns the entries of a state or a state delta. @throws MeshError `invalid_argument` */
export function jsonEntries(record: Record<string, unknown>, what: string): JsonEntry[] {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return entries.map(([key, value]) => {
    if (!key.isWellFormed())
      throw new MeshError('invalid_argument', `${what}: keys must be well-formed Unicode`);
    return [key, toJson(value, `${what}: ${key}`)];
  });
}

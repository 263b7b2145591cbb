/**
 * Replaces each half character (a lone surrogate) in the texts of a JSON value, also in its keys. Returns the
 * same value when it has none. A text that was cut within a character holds one, and strict servers refuse it.
 */
export function wellFormed<T>(value: T): T {
  if (typeof value === 'string') return value.toWellFormed() as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const list = value.map(wellFormed);
    return (list.every((each, at) => Object.is(each, value[at])) ? value : list) as T;
  }
  const entries = Object.entries(value);
  const clean = entries.map(([key, each]) => [key.toWellFormed(), wellFormed(each)] as const);
  const isSame = clean.every(
    ([key, each], at) => key === entries[at]?.[0] && Object.is(each, entries[at]?.[1]),
  );
  return (isSame ? value : Object.fromEntries(clean)) as T;
}

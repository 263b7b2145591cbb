/**
 * Random numbers that depend only on a seed: the same seed gives the same numbers on every machine. For plans
 * of tests, not for secrets.
 */
export interface Random {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number;
  /** Returns a whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  /** Returns true in a `share` of all cases. */
  chance(share: number): boolean;
  /** Returns one item of a list. @throws RangeError for an empty list */
  pick<T>(list: readonly T[]): T;
  /** Returns a copy of the list in a random order. */
  shuffle<T>(list: readonly T[]): T[];
  /**
   * Makes independent numbers, so that the numbers drawn in one place do not depend on the numbers drawn in
   * another place.
   */
  fork(name: string): Random;
}

/** Makes numbers from a seed (mulberry32, which passes gjrand; 32 bits of state are enough for a plan). */
export function seededRandom(seed: number | string): Random {
  let state = hash(String(seed));
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    integer,
    chance: (share) => next() < share,
    pick(list) {
      const [item] = list.slice(integer(0, list.length - 1));
      if (list.length === 0) throw new RangeError('nothing to pick from an empty list');
      return item as (typeof list)[number];
    },
    shuffle(list) {
      const copy = [...list];
      for (let at = copy.length - 1; at > 0; at -= 1) {
        const other = integer(0, at);
        [copy[at], copy[other]] = [copy[other] as (typeof copy)[number], copy[at] as (typeof copy)[number]];
      }
      return copy;
    },
    fork: (name) => seededRandom(`${seed}/${name}`),
  };
}

/** Computes FNV-1a, so that neighbouring seeds start far apart. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value;
}

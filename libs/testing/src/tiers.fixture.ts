/**
 * Tells whether the long tests run: `npm run test:long` sets `MESH_TEST_TIER=long`. `npm test` shows that a promise
 * holds; the long tests show that it holds for hours, with large data, on every kind of server and in every form of
 * accounts.
 */
export function isLongTier(): boolean {
  return process.env.MESH_TEST_TIER === 'long';
}

/** Returns the cases of a test: all of them in the long tests, and else only the first one. */
export function casesOfTier<T>(cases: readonly T[]): readonly T[] {
  return isLongTier() ? cases : cases.slice(0, 1);
}

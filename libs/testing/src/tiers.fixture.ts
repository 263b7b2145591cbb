/**
 * Returns the cases of a test: all of them in `npm run test:long`, which sets `MESH_TEST_TIER=long`, and else only
 * the first one. `npm test` shows that a promise holds; the long tests show that it holds on every kind of server
 * and in every form of accounts.
 */
export function casesOfTier<T>(cases: readonly T[]): readonly T[] {
  return process.env.MESH_TEST_TIER === 'long' ? cases : cases.slice(0, 1);
}

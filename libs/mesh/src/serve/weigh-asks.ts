import type { Canary } from '@agentmesh/protocol';

/** The greatest weight of a replica: with one replica of each version, the smallest share is 1 in 50. */
const mostWeight = 49;

/**
 * Returns the weight of a replica among all that answer the asks of its agent, so that the canary gets its share. The
 * whole numbers that come nearest to the share count, and of those the smallest.
 *
 * @param up the number of replicas that are up, by version
 */
export function wantedWeight(
  canary: Canary | undefined,
  version: string,
  up: ReadonlyMap<string, number>,
): number {
  if (!canary || canary.ending) return 1;
  const isCanary = version === canary.version;
  const count = (ofCanary: boolean) =>
    [...up].reduce((sum, [each, number]) => sum + ((each === canary.version) === ofCanary ? number : 0), 0);
  const others = count(!isCanary);
  // No ask fails because a version is gone.
  if (others === 0) return 1;
  if (canary.percent === 0 || canary.percent === 100) return isCanary === (canary.percent === 100) ? 1 : 0;
  // A replica that has just started has not answered itself.
  const own = Math.max(1, count(isCanary));
  const [ofCanary, ofOthers] = isCanary ? [own, others] : [others, own];
  const weights = nearestWeights(canary.percent / 100, ofCanary, ofOthers);
  return isCanary ? weights.canary : weights.other;
}

/** Returns the weights of each replica of the canary, and of each other one. */
function nearestWeights(share: number, ofCanary: number, ofOthers: number) {
  let nearest = { canary: 1, other: 1, error: Number.POSITIVE_INFINITY };
  for (let sum = 2; sum <= 2 * mostWeight; sum += 1) {
    for (let canary = Math.max(1, sum - mostWeight); canary <= Math.min(mostWeight, sum - 1); canary += 1) {
      const other = sum - canary;
      const error = Math.abs((canary * ofCanary) / (canary * ofCanary + other * ofOthers) - share);
      if (error < nearest.error - 1e-9) nearest = { canary, other, error };
    }
  }
  return nearest;
}

/** Joins two looks: a replica on a busy machine may miss one. */
export function bothLooks(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): Map<string, number> {
  const joined = new Map(before);
  for (const [version, count] of now) joined.set(version, Math.max(count, joined.get(version) ?? 0));
  return joined;
}

/**
 * Sets a weight that rises at once and falls at the second look that wants it lower: other replicas may not have risen
 * yet, and somebody has to answer meanwhile. The first weight is set as it is.
 */
export function slowlyLowered(setWeight: (weight: number) => Promise<void>) {
  let last: number | undefined;
  let current: number | undefined;
  return {
    async set(wanted: number): Promise<void> {
      const next = Math.max(wanted, last ?? 0);
      last = wanted;
      if (next === current) return;
      await setWeight(next);
      current = next;
    },
    /** Tells whether no further look is needed to reach the weight that is wanted. */
    isSettled: () => last === current,
  };
}

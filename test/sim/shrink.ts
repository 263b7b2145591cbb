import { reduce } from '../chaos/plan/shrink.ts';
import { type PartName, partsOf, type RandomPlan, without } from './random-history.ts';
import { simulate } from './simulate.ts';

/**
 * Leaves parts of a plan out while its history still breaks one of the same rules. Returns the names of the parts
 * that are not needed.
 */
export async function shrink(plan: RandomPlan, rules: ReadonlySet<string>): Promise<PartName[]> {
  const all = partsOf(plan);
  let needed: readonly PartName[] = all;
  const others = (kept: readonly PartName[]) => all.filter((name) => !kept.includes(name));
  await reduce(all, async (kept) => {
    const { seed, scenario, faults } = without(plan, others(kept));
    const { violations } = await simulate(seed, scenario, faults);
    const isSame = violations.some(({ rule }) => rules.has(rule));
    if (isSame) needed = kept;
    return isSame;
  });
  return others(needed);
}

import type { Plan } from './plan.ts';

export interface ShrinkOptions {
  /** Carries out a plan. Tells whether the violation is still there. */
  fails: (plan: Plan) => Promise<boolean>;
  /** The largest number of plans to carry out. */
  tries: number;
}

/**
 * Drops faults and visits from a failing plan while it fails, in ever smaller parts (the algorithm ddmin of
 * Zeller and Hildebrandt, 2002). A run of the mesh does not repeat to the millisecond, so a part may stay that
 * is not needed.
 */
export async function shrink(plan: Plan, { fails, tries }: ShrinkOptions): Promise<Plan> {
  let smallest = plan;
  let left = tries;
  const attempt = async (candidate: Plan) => {
    if (left <= 0) return false;
    left -= 1;
    const isSmaller = await fails(candidate);
    if (isSmaller) smallest = candidate;
    return isSmaller;
  };
  await reduce(smallest.faults, (faults) => attempt({ ...smallest, faults }));
  await reduce(smallest.visits, (visits) => attempt({ ...smallest, visits }));
  await reduceSteps(smallest, attempt);
  return smallest;
}

/** Removes parts of a list: first all of it, then halves, quarters, and so on down to single items. */
export async function reduce<T>(
  list: readonly T[],
  stillFails: (rest: T[]) => Promise<boolean>,
): Promise<void> {
  let items = [...list];
  let parts = 1;
  while (items.length > 0) {
    const size = Math.ceil(items.length / parts);
    const rest = await firstThat(withoutParts(items, size), stillFails);
    if (rest) {
      items = rest;
      parts = Math.max(1, parts - 1);
    } else if (size === 1) return;
    else parts = Math.min(items.length, parts * 2);
  }
}

function withoutParts<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.filter((_item, index) => Math.floor(index / size) !== at),
  );
}

async function firstThat<T>(candidates: T[], holds: (each: T) => Promise<boolean>): Promise<T | undefined> {
  for (const each of candidates) if (await holds(each)) return each;
  return undefined;
}

/** Removes single bursts from the visits that are left. */
async function reduceSteps(plan: Plan, stillFails: (plan: Plan) => Promise<boolean>): Promise<void> {
  let { visits } = plan;
  for (const at of visits.keys()) {
    const bursts = visits[at]?.bursts ?? [];
    if (bursts.length < 2) continue;
    await reduce(bursts, async (rest) => {
      const changed = visits.map((visit, index) => (index === at ? { ...visit, bursts: rest } : visit));
      const isSmaller = await stillFails({ ...plan, visits: changed });
      if (isSmaller) visits = changed;
      return isSmaller;
    });
  }
}

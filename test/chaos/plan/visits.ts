import { type Random, seededRandom } from '@agentmesh/testing';
import type { Mix } from './mixes.ts';
import type { Visit } from './steps.ts';
import { allVisitKinds, type VisitKind, visitKinds } from './visit-kinds.ts';

/** The share of each kind of visit in a hundred, for every mix. */
const weights: Record<VisitKind, number> = {
  ...{ talk: 26, crowd: 10, job: 7, ticket: 7, confirm: 6, cancel: 10, interrupt: 4, reject: 3, deadline: 3 },
  ...{ remove: 4, fork: 3, rewind: 3, large: 2, files: 3, readers: 5, doors: 4 },
};

/** The kinds that a mix has more often, by their factors: those which its faults hit hardest. */
const more: Record<Mix, Partial<Record<VisitKind, number>>> = {
  none: { crowd: 3, cancel: 3, job: 2, ticket: 2 },
  kills: {},
  pauses: { crowd: 2, job: 2, talk: 1.5 },
  outages: { job: 2, ticket: 2, large: 2 },
  network: { readers: 3, doors: 3, large: 2 },
  full: { large: 3, files: 2 },
  clock: {},
};

/** The users, each with several sessions, which share the state of the user. */
const users = 12;

/** Yields the visits of a seed, without an end; all kinds of them, or only some. */
export function* visitsOf(
  seed: number,
  mixes: readonly Mix[],
  kinds: readonly VisitKind[] = allVisitKinds,
): Generator<Visit, never, void> {
  const random = seededRandom(seed).fork('visits');
  const shares = kinds.map((kind): [VisitKind, number] => {
    const factors = mixes.map((mix) => more[mix][kind] ?? 1);
    return [kind, weights[kind] * Math.max(1, ...factors)];
  });
  let steps = 0;
  for (let number = 0; ; number += 1) {
    const kind = pickByWeight(random, shares);
    const planner = { random: random.fork(`${kind} ${number}`), nextId: () => `${number}-${steps++}` };
    yield { user: `u${random.integer(1, users)}`, bursts: visitKinds[kind](planner) };
  }
}

function pickByWeight<T>(random: Random, shares: readonly [T, number][]): T {
  let left = random.next() * shares.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [item, weight] of shares) {
    left -= weight;
    if (left < 0) return item;
  }
  return random.pick(shares)[0];
}

/** Returns the number of runs that a visit begins. */
export function runsOf({ bursts }: Visit): number {
  return bursts.flat().filter((step) => step.do === 'say' || step.do === 'answer').length;
}

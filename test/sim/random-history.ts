import type { FaultPlan } from './faults/fault-plan.ts';
import { randomFaults } from './faults/random-faults.ts';
import { randomScenario } from './scenarios/random-scenario.ts';
import type { Scenario } from './scenarios/scenario.ts';

/** The plan of a random history: all of it follows from the seed. */
export interface RandomPlan {
  seed: string;
  scenario: Scenario;
  faults: FaultPlan;
}

/** Draws the processes, the traffic and the faults of a history. */
export function randomPlan(seed: string): RandomPlan {
  const scenario = randomScenario(seed);
  return { seed, scenario, faults: randomFaults(seed, scenario.replicas) };
}

/** The name of a part of a plan that may be left out: `visit.1`, `fault.0`, `rate.lostCall`, `flush`, `roll`. */
export type PartName = string;

/** Returns the parts of a plan that may be left out. */
export function partsOf({ scenario, faults }: RandomPlan): PartName[] {
  const { timed = [], rates = {}, flushMs = 0 } = faults;
  const rateNames = Object.entries(rates).filter(([name, rate]) => name !== 'slowMs' && rate > 0);
  return [
    ...timed.map((_, at) => `fault.${at}`),
    ...rateNames.map(([name]) => `rate.${name}`),
    ...(flushMs > 0 ? ['flush'] : []),
    ...(scenario.rolls ? ['roll'] : []),
    ...scenario.visits.map((_, at) => `visit.${at}`),
  ];
}

/** Returns a plan without some of its parts. */
export function without(plan: RandomPlan, names: readonly PartName[]): RandomPlan {
  const isKept = (name: PartName) => !names.includes(name);
  const { scenario, faults } = plan;
  const { timed = [], rates = {}, flushMs = 0 } = faults;
  const { rolls, ...rest } = scenario;
  const kept = Object.entries(rates).filter(([name]) => isKept(`rate.${name}`));
  return {
    ...plan,
    scenario: {
      ...rest,
      visits: scenario.visits.filter((_, at) => isKept(`visit.${at}`)),
      ...(rolls && isKept('roll') && { rolls }),
    },
    faults: {
      ...faults,
      timed: timed.filter((_, at) => isKept(`fault.${at}`)),
      rates: Object.fromEntries(kept),
      flushMs: isKept('flush') ? flushMs : 0,
    },
  };
}

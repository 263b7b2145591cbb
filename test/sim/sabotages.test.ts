import { expect, it } from 'vitest';
import { type Sabotage, sabotages } from '../chaos/sabotage.ts';
import { readOpFaults } from './faults/op-fault.ts';
import { randomPlan } from './random-history.ts';
import { scenarioOf } from './scenarios/scenarios.ts';
import { simulate } from './simulate.ts';

/**
 * A history that finds each sabotage, as `npm run simulate -- --sabotage all` found it: of a scenario with a fault at an
 * operation, or of a random seed.
 */
const finds: Record<Sabotage, readonly [scenario: string, faults?: string] | number> = {
  'no-fencing': 12,
  'no-dedupe': 12,
  'ack-first': 3,
  'never-ack': ['plain'],
  'no-lease': ['order'],
  'no-order': 37,
  'no-gone-check': ['job', 'long_work/2/47/pause'],
  'no-result': ['remote'],
  'answer-twice': ['ticket'],
  'lost-outcome': ['ticket'],
  'lost-cancel': 9,
  'no-deadline': 233,
  'no-next-run': ['order'],
  'new-ids': ['plain'],
  'no-job-lease': ['job', 'long_work/2/25/pause'],
  'no-deletion': ['remove'],
  'two-ends': ['plain'],
  'no-catch-up': 42,
  'stale-session': 6,
};

it('has a history for every sabotage, at least twelve', () => {
  expect(Object.keys(finds)).toEqual([...sabotages]);
  expect(sabotages.length).toBeGreaterThanOrEqual(12);
});

it.each(sabotages)('finds %s, and nothing without it', async (sabotage) => {
  const find = finds[sabotage];
  const { seed, scenario, faults } =
    typeof find === 'number'
      ? randomPlan(String(find))
      : {
          ...{ seed: '1', scenario: scenarioOf(find[0]) },
          faults: find[1] === undefined ? {} : { ops: readOpFaults(find[1]) },
        };
  const broken = await simulate(seed, scenario, { ...faults, sabotage });
  expect(broken.violations).not.toEqual([]);
  expect((await simulate(seed, scenario, faults)).violations).toEqual([]);
});

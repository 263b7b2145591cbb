import { expect, it } from 'vitest';
import { partsOf, randomPlan, without } from './random-history.ts';
import { runSimulation } from './run-simulation.fixture.ts';
import { simulate } from './simulate.ts';

it('keeps its promises in 300 random histories', async () => {
  expect(await runSimulation('--random', '300', '--seed', '1')).toMatch(/^300 histories, 0 violations$/m);
});

it('leaves out the parts of a history that are named', async () => {
  const plan = randomPlan('3');
  const parts = partsOf(plan);
  expect(parts.length).toBeGreaterThan(2);
  const visits = parts.filter((part) => part.startsWith('visit.'));
  const faults = parts.filter((part) => !visits.includes(part));
  expect(partsOf(without(plan, faults))).toEqual(visits);
  const { scenario, faults: none } = without(plan, parts);
  const { history, violations } = await simulate(plan.seed, scenario, none);
  expect(history.faults).toEqual([]);
  // There is no traffic, so there is no work.
  expect(violations.map(({ rule }) => rule)).toEqual(['work-done']);
});

import { expect, it } from 'vitest';
import { readMixes } from './plan/mixes.ts';
import { makePlan } from './plan/plan.ts';
import { describe as figures, figuresOf } from './report.ts';
import { defaultSettings, runChaos } from './run-chaos.ts';

it('keeps all rules while replicas, gateways and servers are killed', async () => {
  const plan = makePlan({
    ...{ ...defaultSettings, seed: 4, runs: 100, mixes: readMixes('kills') },
    visits: ['talk', 'doors', 'readers'],
  });
  const result = await runChaos({ plan });
  expect(result.violations, figures(result)).toEqual([]);
  const { share, faults } = figuresOf(result);
  expect(share, figures(result)).toBeGreaterThanOrEqual(0.9);
  expect(faults).toBeGreaterThan(5);
}, 180_000);

import { expect, it } from 'vitest';
import { readMixes } from './plan/mixes.ts';
import { makePlan } from './plan/plan.ts';
import { describe as figures, figuresOf } from './report.ts';
import { defaultSettings, runChaos } from './run-chaos.ts';

it('keeps all rules under all kinds of faults', async () => {
  const plan = makePlan({ ...defaultSettings, seed: 4, runs: 300, mixes: readMixes('all') });
  const result = await runChaos({ plan });
  expect(result.violations, figures(result)).toEqual([]);
  expect(figuresOf(result).faults).toBeGreaterThan(5);
}, 180_000);

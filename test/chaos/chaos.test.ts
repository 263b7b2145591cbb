import { expect, it } from 'vitest';
import { describe as figures, figuresOf } from './report.ts';
import { runChaos } from './run-chaos.ts';

it('keeps all rules while replicas, gateways and servers are killed', async () => {
  const result = await runChaos({ runs: 100, seed: 4, killEveryMs: 700, ackWaitMs: 1_500, thinkMs: 60 });
  expect(result.violations, figures(result)).toEqual([]);
  const { share, kills } = figuresOf(result);
  expect(share, figures(result)).toBeGreaterThanOrEqual(0.95);
  expect(kills).toBeGreaterThan(3);
}, 120_000);

import { expect, it } from 'vitest';
import { manifestRules } from './autoscaler.ts';
import { simulate } from './simulate.ts';

it('replicas follow the queue from none to some and back, and no run is lost', async () => {
  const report = await simulate({
    bursts: [
      { at: 0, runs: 100 },
      { at: 8_000, runs: 60 },
    ],
    rules: { ...manifestRules(60, 3), stabilizationMs: 500 },
    thinkMs: 1_000,
    graceMs: 1_500,
    longestMs: 90_000,
  });
  expect(report).toMatchObject({ runs: 160, ends: { completed: 160 }, damaged: 0, failures: [] });
  expect(Math.max(...report.samples.map(({ serving }) => serving))).toBeGreaterThan(1);
  expect(report.samples.at(-1)).toMatchObject({ waiting: 0, working: 0, wanted: 0, serving: 0 });
  expect(report.idleAt).toBeDefined();
}, 120_000);

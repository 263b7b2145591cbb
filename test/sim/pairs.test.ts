import { expect, it } from 'vitest';
import { readOpFaults } from './faults/op-fault.ts';
import { pairs } from './pairs.ts';
import { scenarioOf } from './scenarios/scenarios.ts';
import { simulate } from './simulate.ts';

it('keeps its promises when two faults come in one history', async () => {
  const report = await pairs(scenarioOf('remote'), { seed: '7', most: 60 });
  expect(report).toMatchObject({ histories: 60, bad: [] });
});

it('finds, with two faults, a replica that does not catch up; one fault never does', async () => {
  const scenario = scenarioOf('transfer');
  // The numbers of operations move with each request that a process sends.
  const around = (middle: number) => Array.from({ length: 13 }, (_, at) => middle - 6 + at);
  for (const first of around(22))
    for (const second of around(15)) {
      const ops = readOpFaults(`middle_agent/2/${first}/pause,add_remote/1/${second}/pause`);
      const { violations } = await simulate('1', scenario, { ops, sabotage: 'no-catch-up' });
      if (!violations.some(({ rule }) => rule === 'one-response')) continue;
      expect((await simulate('1', scenario, { ops })).violations).toEqual([]);
      return;
    }
  throw new Error('no pair of pauses finds it');
});

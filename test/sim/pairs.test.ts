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
  const ops = readOpFaults('front_agent/1/21/pause,add_remote/1/14/after');
  const { violations } = await simulate('1', scenario, { ops, sabotage: 'no-catch-up' });
  expect(violations.map(({ rule }) => rule)).toContain('one-response');
  expect((await simulate('1', scenario, { ops })).violations).toEqual([]);
});

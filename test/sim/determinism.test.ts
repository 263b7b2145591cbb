import { expect, it } from 'vitest';
import { wholeWork } from './every-crash-point.ts';
import { randomPlan } from './random-history.ts';
import { runSimulation } from './run-simulation.fixture.ts';
import { simulate } from './simulate.ts';
import { carryOut } from './work.ts';

const count = 20;
const seed = '1001';

async function hashes(): Promise<string[]> {
  const found: string[] = [];
  for await (const { notes } of carryOut({ do: 'random', count, seed }, wholeWork)) found.push(...notes);
  return found;
}

it('repeats histories by their seeds, also in another process and beside other work', async () => {
  // Both work at the same time.
  const other = runSimulation('--random', String(count), '--seed', seed, '--hashes');
  const first = await hashes();
  expect(new Set(first).size).toBe(count);
  expect(await hashes()).toEqual(first);
  const printed = (await other).split('\n').filter((line) => /^ +\d+ \d+-[0-9a-f]{8}$/.test(line));
  expect(printed.map((line) => line.trim())).toEqual(first.map((line) => line.trim()));
});

it('repeats the trace of a history byte for byte', async () => {
  const { seed: own, scenario, faults } = randomPlan('1007');
  const [one, other] = [
    await simulate(own, scenario, faults, { keepsTrace: true }),
    await simulate(own, scenario, faults, { keepsTrace: true }),
  ];
  expect(one.lines.length).toBeGreaterThan(100);
  expect(other.lines).toEqual(one.lines);
});

it('has other histories for other seeds', async () => {
  const { scenario, faults } = randomPlan('5');
  const one = await simulate('1', scenario, faults);
  const other = await simulate('2', scenario, faults);
  expect(other.hash).not.toBe(one.hash);
});

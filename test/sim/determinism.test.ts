import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { wholeWork } from './every-crash-point.ts';
import { randomPlan } from './random-history.ts';
import { simulate } from './simulate.ts';
import { carryOut } from './work.ts';

const count = 20;
const seed = '1001';
const main = join(import.meta.dirname, 'main.ts');

async function hashes(): Promise<string[]> {
  const found: string[] = [];
  for await (const { notes } of carryOut({ do: 'random', count, seed }, wholeWork)) found.push(...notes);
  return found;
}

it('repeats histories by their seeds, also in another process and beside other work', async () => {
  const command = [main, '--random', String(count), '--seed', seed, '--hashes', '--workers', '2'];
  // Both work at the same time.
  const other = promisify(execFile)(process.execPath, command);
  const first = await hashes();
  expect(new Set(first).size).toBe(count);
  expect(await hashes()).toEqual(first);
  const { stdout } = await other;
  const printed = stdout.split('\n').filter((line) => /^ +\d+ \d+-[0-9a-f]{8}$/.test(line));
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

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Sabotage } from './faults/sabotages.ts';

/** The scenarios whose histories are long. Files of their own keep each file of tests short. */
export const longScenarios: readonly string[] = ['nested', 'fan', 'order', 'job', 'version', 'rewind'];
export const httpScenarios: readonly string[] = ['http'];
/** The scenarios of `--crash all` in the long tests alone. */
export const longestScenarios: readonly string[] = ['mixed'];

/** The sabotages that only a hundred histories or more find. */
export const slowlyFound: readonly Sabotage[] = [
  'no-result',
  'own-clock',
  'no-deadline',
  'no-gone-check',
  'no-job-lease',
  'lost-cancel',
];

const main = join(import.meta.dirname, 'main.ts');

/**
 * Runs the command in a process of its own, where our code takes two thirds of the time that it takes here. Returns
 * what it prints, errors too, also when it finds violations.
 */
export async function runSimulation(...args: string[]): Promise<string> {
  const command = promisify(execFile)(process.execPath, [main, ...args, '--workers', '1']);
  const { stdout, stderr } = await command.catch((error: { stdout?: string; stderr?: string }) => error);
  return `${stdout ?? ''}${stderr ?? ''}`;
}

/**
 * Kills a process right after every operation of scenarios, and expects no violation. What it did between two
 * operations dies with it, so a death before an operation leaves the same as a death after the one before:
 * the simulation of the long tests has both sides.
 */
export const expectEveryCrashPoint = (names: readonly string[]): Promise<void> =>
  expectEveryPoint(names, '--crash', '--side', 'after');

/** Strikes at every operation of scenarios, and expects no violation. */
export async function expectEveryPoint(
  names: readonly string[],
  fault: '--crash' | '--failover',
  ...rest: string[]
): Promise<void> {
  const printed = await runSimulation(fault, names.join(','), '--seed', '7', ...rest);
  console.log(printed);
  expect(printed).toMatch(/^\d{3,} histories, 0 violations$/m);
  const parts = [...printed.matchAll(/^(\w+): (\d+) histories, (\d+) faults not reached/gm)];
  expect(parts.map(([, name]) => name)).toEqual(names);
  for (const [, name, histories, missed] of parts) {
    expect(Number(histories), `points of ${name}`).toBeGreaterThan(10);
    expect(Number(missed), `points of ${name} that were not reached`).toBe(0);
  }
}

/** Searches a history for each sabotage, among 1,000 at the most, and expects that each is found. */
export async function expectSabotagesFound(names: readonly Sabotage[]): Promise<void> {
  expect(names.length).toBeGreaterThanOrEqual(12);
  const printed = await runSimulation('--sabotage', names.join(','), '--seed', '1');
  const found = [...printed.matchAll(/^ +found by .* --sabotage ([a-z-]+)$/gm)].map(([, name]) => name);
  expect(found.sort(), printed).toEqual([...names].sort());
}

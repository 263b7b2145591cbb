import { expect } from 'vitest';
import { everyCrashPoint, type Report } from './every-crash-point.ts';
import { scenarioOf } from './scenarios/scenarios.ts';
import { lineOf } from './work.ts';

/** The scenarios whose histories are long. Files of their own keep each file of tests short. */
export const longScenarios: readonly string[] = ['nested', 'fan', 'order', 'job', 'version', 'rewind'];
export const longestScenarios: readonly string[] = ['mixed'];

/** Returns the bad histories of a report, with the commands that repeat them. */
const linesOf = ({ bad }: Report) => bad.map(lineOf);

/** Kills a process before and after every operation of a scenario, and expects no violation. */
export async function expectEveryCrashPoint(name: string): Promise<void> {
  const report = await everyCrashPoint(scenarioOf(name), { seed: '7' });
  console.log(`${name}: ${report.histories} crash points`);
  expect(linesOf(report)).toEqual([]);
  expect(report.missed).toBe(0);
  expect(report.histories).toBeGreaterThan(30);
}

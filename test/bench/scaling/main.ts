/**
 * Sends 2,000 runs of a slow model in bursts while KEDA's rules start and stop replicas, on a real NATS and Redis, in
 * a time that passes 15 times as fast as in a cluster. Prints the figures and draws them. Ends with exit code 1 when
 * a run is lost, damaged or failed, or when replicas are left.
 *
 * `node_modules/.bin/node test/bench/scaling/main.ts [file.svg]`
 */
import { writeFile } from 'node:fs/promises';
import { manifestRules } from './autoscaler.ts';
import { drawScaling } from './chart.ts';
import { simulate } from './simulate.ts';

const [file] = process.argv.slice(2);
const pace = 15;
// Half a minute instead of five: replicas stop while they have work, which is the harder case.
const rules = { ...manifestRules(pace, 8), stabilizationMs: 30_000 / pace };
const bursts = [
  { at: 1_000, runs: 100 },
  { at: 10_000, runs: 700 },
  { at: 25_000, runs: 600 },
  { at: 95_000, runs: 600 },
];
const report = await simulate({ bursts, rules, thinkMs: 4_000, graceMs: 2_000, longestMs: 300_000 });
const { samples, runs, ends, damaged, handedBack, pauses, waits, stopped, longestStopMs, failures, idleAt } =
  report;
const quantile = (times: readonly number[], share: number) =>
  ((times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN) / 1_000).toFixed(2);
console.log(`runs              ${runs}: ${JSON.stringify(ends)}, ${damaged} damaged`);
console.log(
  `replicas          ${Math.max(...samples.map(({ serving }) => serving))} at most, ${stopped} stopped`,
);
console.log(
  `stops             ${(longestStopMs / 1_000).toFixed(2)} s at most, failures: ${failures.join(' ') || 'none'}`,
);
console.log(`waits for a slot  p50 ${quantile(waits, 0.5)} s, p99 ${quantile(waits, 0.99)} s`);
console.log(
  `handed back       ${handedBack}; until another replica had the run: p50 ${quantile(pauses, 0.5)} s, p99 ${quantile(pauses, 0.99)} s`,
);
console.log(`no replica after  ${idleAt === undefined ? 'never' : `${(idleAt / 1_000).toFixed(1)} s`}`);
if (file !== undefined) await writeFile(file, drawScaling(report, bursts, rules));
const isWhole = ends['completed'] === runs && damaged === 0 && failures.length === 0 && idleAt !== undefined;
if (!isWhole) process.exitCode = 1;

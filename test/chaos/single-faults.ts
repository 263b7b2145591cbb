/**
 * Measures what single faults cost: one fault after the other, each kind on each of its targets in turn, with so
 * much time between two faults that the mesh has recovered. Prints the longest silence of a run for each kind.
 *
 * `node test/chaos/single-faults.ts [rounds]`, default 6: each kind strikes so many times
 */
import type { FaultKind, PlannedFault, Target } from './plan/faults.ts';
import { makePlan } from './plan/plan.ts';
import { describe } from './report.ts';
import { defaultSettings, runChaos } from './run-chaos.ts';

const rounds = Number(process.argv[2] ?? 6);
if (!Number.isSafeInteger(rounds) || rounds < 1)
  throw new Error('the number of rounds is a whole number above 0');

const processes: Target[] = [
  'front_agent',
  'middle_agent',
  'back_agent',
  'add_remote',
  'long_work',
  'gateway',
];
const servers: Target[] = ['nats', 'redis'];
/** The time after the end of a fault until the next one, in ms. */
const betweenMs = 6_000;

const kinds: [kind: FaultKind, targets: Target[], forMs: number][] = [
  ['kill', processes, 0],
  ['term', processes, 0],
  ['pause', processes, 8_000],
  ['cut', processes, 0],
  ['refuse', processes, 4_000],
  ['stall', processes, 4_000],
  ['partition', processes, 4_000],
  ['restart', servers, 1_500],
  ['freeze', servers, 1_500],
];

const faults: PlannedFault[] = [];
let atMs = 3_000;
for (let round = 0; round < rounds; round += 1) {
  for (const [kind, targets, forMs] of kinds) {
    const target = targets[round % targets.length] ?? 'nats';
    const side = round % 2 === 0 ? 'nats' : 'redis';
    faults.push({ atMs, kind, target, which: round, forMs, side });
    atMs += forMs + betweenMs;
  }
}
/** The default of the provisioning step. */
const ackWaitMs = 1_500;
const settings = { ...defaultSettings, clients: 3, ackWaitMs };
// The mix puts proxies between the processes and the servers.
const plan = makePlan({ ...settings, seed: 1, mixes: ['network'], runs: 20_000 });
const result = await runChaos({ plan: { ...plan, faults }, trafficMs: atMs });
console.log(describe(result));
for (const { rule, what } of result.violations.slice(0, 20)) console.log(`  ${rule}: ${what}`);
process.exitCode = result.violations.length > 0 ? 1 : 0;

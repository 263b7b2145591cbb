import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { redisKinds } from './field/servers.ts';
import { readMixes } from './plan/mixes.ts';
import { makePlan, type Plan, type PlanSettings, readPlan, writePlan } from './plan/plan.ts';
import { shrink } from './plan/shrink.ts';
import { readVisitKinds } from './plan/visit-kinds.ts';
import { describe, violatingHistory } from './report.ts';
import { type ChaosOptions, type ChaosResult, defaultSettings, runChaos } from './run-chaos.ts';
import { describeSlopes } from './soak/slopes.ts';
import { soak } from './soak/soak.ts';

const number = (value: string | undefined, fallback: number): number => {
  const read = value === undefined ? fallback : Number(value);
  if (!Number.isSafeInteger(read) || read < 0) throw new Error(`${value} is no whole number`);
  return read;
};

const text = { type: 'string' } as const;
const optionNames = {
  ...{ runs: text, seed: text, mix: text, clients: text, 'fault-every': text, 'longest-outage': text },
  ...{ 'nats-servers': text, redis: text, visits: text, 'wait-replicas': text },
  ...{ replay: text, shrink: text, tries: text, soak: text },
  verbose: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof optionNames }>>['values'];

/** Returns the plan of the command line: the plan of a file, or a new one. */
function planOf(values: Values): Plan {
  if (values.replay !== undefined) return readPlan(values.replay);
  const redisKind = redisKinds.find((kind) => kind === (values.redis ?? 'single'));
  if (!redisKind) throw new Error(`--redis ${values.redis}: use ${redisKinds.join(', ')}`);
  const everyMs = values['fault-every'];
  return makePlan({
    ...defaultSettings,
    runs: number(values.runs, 300),
    seed: number(values.seed, Math.floor(Math.random() * 1e9)),
    mixes: readMixes(values.mix ?? 'all'),
    ...(values.visits !== undefined && { visits: readVisitKinds(values.visits) }),
    clients: number(values.clients, defaultSettings.clients),
    ...(everyMs !== undefined && { everyMs: number(everyMs, 0) }),
    longestMs: 1_000 * number(values['longest-outage'], defaultSettings.longestMs / 1_000),
    natsServers: number(values['nats-servers'], 1),
    redisKind,
    waitReplicas: number(values['wait-replicas'], redisKind === 'single' ? 0 : 1),
  });
}

async function main(signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({ options: optionNames });
  const printing = values.verbose
    ? {
        onFault: (what: string) => console.log(`  ${what}`),
        onLine: (replica: string, line: string) => console.log(`  ${replica}  ${line}`),
      }
    : {};
  if (values.shrink !== undefined)
    return await shrinkFile(values.shrink, number(values.tries, 20), { signal, ...printing });
  const plan = planOf(values);
  const { seed, runs, mixes } = plan.settings;
  console.log(`npm run chaos -- --runs ${runs} --mix ${mixes.join(',')} --seed ${seed}`);
  if (values.soak !== undefined)
    return await soakFor(number(values.soak, 0), plan.settings, { signal, ...printing });
  const onDone = (done: number) => {
    if (done % 100 === 0) console.log(`  ${done} of ${runs}`);
  };
  return judge(await runChaos({ plan, signal, onDone, ...printing }));
}

type Printing = Pick<ChaosOptions, 'signal' | 'onFault' | 'onLine'>;

/** The mean time between two faults of a soak, in ms. */
const soakEveryMs = 10_000;

/** Soaks a mesh, and prints each round and the slopes at the end. Returns the exit code. */
async function soakFor(minutes: number, settings: PlanSettings, printing: Printing): Promise<number> {
  const result = await soak({
    minutes,
    settings: { ...settings, everyMs: settings.everyMs ?? soakEveryMs },
    ...printing,
    onRound(round, result, { values }) {
      const { violations, history, trafficMs } = result;
      console.log(
        `  round ${round}: ${history.messages.length} messages, ${history.faults.length} faults in ${Math.round(trafficMs / 1_000)} s, ${violations.length} violations, ${values['keys of Redis']} keys left`,
      );
      for (const { rule, what } of violations.slice(0, 5)) console.log(`    ${rule}: ${what}`);
      if (violations.length > 0) keep(result);
    },
  });
  console.log(describeSlopes(result.slopes));
  console.log(`${result.rounds} rounds, ${result.violations} violations`);
  return result.violations > 0 ? 1 : 0;
}

/** Writes the history and the plan of a run that broke rules, and prints their names. */
function keep({ plan, history, violations }: ChaosResult): void {
  const { seed } = plan.settings;
  const [historyFile, planFile] = ['history', 'plan'].map((what) =>
    join(tmpdir(), `agentmesh-chaos-${seed}.${what}.json`),
  ) as [string, string];
  writeFileSync(historyFile, JSON.stringify(violatingHistory(seed, history, violations), undefined, 1));
  writePlan(planFile, plan);
  console.log(`seed ${seed}; the history is in ${historyFile}; npm run chaos -- --replay ${planFile}`);
}

/** Shrinks the plan of a file while the rules that it broke are broken, and writes the smallest plan. */
async function shrinkFile(file: string, tries: number, printing: Printing): Promise<number> {
  const plan = readPlan(file);
  const broken = async (candidate: Plan) =>
    new Set((await runChaos({ plan: candidate, ...printing })).violations.map(({ rule }) => rule));
  const wanted = await broken(plan);
  if (wanted.size === 0) {
    console.log(`the plan of ${file} broke no rule this time; try again, or with --replay`);
    return 1;
  }
  console.log(`it breaks ${[...wanted].join(', ')}; dropping faults and visits in at most ${tries} tries`);
  const small = await shrink(plan, {
    tries,
    fails: async (candidate) => {
      const found = await broken(candidate);
      const isSame = !wanted.isDisjointFrom(found);
      const { faults, visits } = candidate;
      console.log(`  ${faults.length} faults, ${visits.length} visits: ${isSame ? 'still there' : 'gone'}`);
      return isSame;
    },
  });
  const smallFile = file.replace(/(\.json)?$/, '.small.json');
  writePlan(smallFile, small);
  console.log(JSON.stringify({ faults: small.faults, visits: small.visits }, undefined, 1));
  console.log(`npm run chaos -- --replay ${smallFile}`);
  return 0;
}

/** Prints the figures and the violations, and writes the files of a failing run. Returns the exit code. */
function judge(result: ChaosResult): number {
  console.log(describe(result));
  const { violations } = result;
  if (violations.length > 0) {
    for (const { rule, invocationId, what } of violations.slice(0, 20)) {
      console.log(`  ${rule}: ${invocationId ?? ''} ${what}`);
    }
    keep(result);
  }
  return violations.length > 0 ? 1 : 0;
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => stop.abort(new Error(`stopped by ${name}; nothing was judged`)));
}
const run = async (): Promise<number> => {
  try {
    return await main(stop.signal);
  } catch (error) {
    console.error(stop.signal.aborted ? stop.signal.reason.message : error);
    return 1;
  }
};
// With handles of child processes that were killed, the orderly end of Node 24 is sometimes busy for minutes.
process.exit(await run());

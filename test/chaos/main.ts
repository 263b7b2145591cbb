import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeSlopes } from '@agentmesh/testing';
import { readCommandLine, WrongUsage } from './command-line.ts';
import { type Plan, type PlanSettings, writePlan } from './plan/plan.ts';
import { shrink } from './plan/shrink.ts';
import { describe, violatingHistory } from './report.ts';
import { type ChaosOptions, type ChaosResult, runChaos } from './run-chaos.ts';
import { soak } from './soak/soak.ts';

async function main(signal: AbortSignal): Promise<number> {
  const work = readCommandLine(process.argv.slice(2));
  if (work.do === 'help') {
    console.log(work.text);
    return 0;
  }
  const printing = work.verbose
    ? {
        onFault: (what: string) => console.log(`  ${what}`),
        onStep: (what: string) => console.log(`  ${what}`),
        onLine: (replica: string, line: string) => console.log(`  ${replica}  ${line}`),
      }
    : {};
  if (work.do === 'shrink') return await shrinkFile(work, { signal, ...printing });
  const { plan } = work;
  const { seed, runs, mixes } = plan.settings;
  if (work.do === 'soak') {
    console.log(`npm run chaos -- --soak ${work.minutes} --mix ${mixes.join(',')} --seed ${seed}`);
    return await soakFor(work.minutes, plan.settings, { signal, ...printing });
  }
  console.log(`npm run chaos -- --runs ${runs} --mix ${mixes.join(',')} --seed ${seed}`);
  const onDone = (done: number) => {
    if (done % 100 === 0) console.log(`  ${done} of ${runs}`);
  };
  return judge(await runChaos({ plan, signal, onDone, ...printing }));
}

type Printing = Pick<ChaosOptions, 'signal' | 'onFault' | 'onStep' | 'onLine'>;

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
async function shrinkFile(
  { file, plan, tries }: { file: string; plan: Plan; tries: number },
  printing: Printing,
): Promise<number> {
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

/** The exit code where nothing was judged, as when a server does not start; 1 is for violations. */
const unable = 2;

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => stop.abort(new Error(`stopped by ${name}; nothing was judged`)));
}
const run = async (): Promise<number> => {
  try {
    return await main(stop.signal);
  } catch (error) {
    const isPlain = error instanceof WrongUsage || stop.signal.aborted;
    console.error(isPlain ? String((stop.signal.reason ?? error).message) : error);
    return unable;
  }
};
// With handles of child processes that were killed, the orderly end of Node 24 is sometimes busy for minutes.
process.exit(await run());

import { type BadHistory, everyCrashPoint, type Report, type Shard } from './every-crash-point.ts';
import { type OpFaultKind, writeOpFaults } from './faults/op-fault.ts';
import type { Sabotage } from './faults/sabotages.ts';
import { findSabotage } from './find-sabotage.ts';
import { pairs } from './pairs.ts';
import { randomPlan } from './random-history.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { simulate } from './simulate.ts';

/** The search that a command line asks for. */
export type Search =
  | { do: 'points'; scenarios: readonly Scenario[]; kinds: readonly OpFaultKind[]; seed: string }
  | { do: 'pairs'; scenarios: readonly Scenario[]; seed: string; most?: number }
  | { do: 'random'; count: number; seed: string }
  | { do: 'sabotages'; names: readonly Sabotage[]; seed: string };

/** A history that breaks rules, and the command that repeats it. */
interface BadLine {
  command: string;
  violations: string[];
}

/** The result of one part of a search. */
export interface Summary {
  name: string;
  histories: number;
  /** The planned faults whose operations were not reached. */
  missed: number;
  cpuSeconds: number;
  bad: BadLine[];
  /** The hashes of random histories, by their seeds; and where a sabotage was found. */
  notes: string[];
}

/** Carries a search out, or a shard of it. */
export async function* carryOut(search: Search, shard: Shard): AsyncGenerator<Summary, void, void> {
  if (search.do === 'random') yield await randomHistories(search, shard);
  else if (search.do === 'sabotages') yield* sabotaged(search, shard);
  else
    for (const scenario of search.scenarios) {
      const from = cpuSeconds();
      const { seed } = search;
      const report =
        search.do === 'points'
          ? await everyCrashPoint(scenario, { seed, shard, kinds: search.kinds })
          : await pairs(scenario, { seed, shard, ...(search.most && { most: search.most }) });
      yield summaryOf(scenario.name, report, from);
    }
}

/** Adds the results of the shards of one part. */
export function addUp(one: Summary, other: Summary): Summary {
  return {
    name: one.name,
    histories: one.histories + other.histories,
    missed: one.missed + other.missed,
    cpuSeconds: one.cpuSeconds + other.cpuSeconds,
    bad: [...one.bad, ...other.bad].sort((a, b) => (a.command < b.command ? -1 : 1)),
    notes: [...one.notes, ...other.notes].sort(),
  };
}

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

function summaryOf(name: string, { histories, missed, bad }: Report, from: number): Summary {
  return {
    ...{ name, histories, missed, notes: [] },
    cpuSeconds: cpuSeconds() - from,
    bad: bad.map(lineOf),
  };
}

function lineOf({ scenario, seed, faults, violations }: BadHistory): BadLine {
  const { ops = [], sabotage } = faults;
  const words = [`npm run simulate -- --one ${scenario.name} --seed ${seed}`];
  if (ops.length > 0) words.push(`--crash ${writeOpFaults(ops)}`);
  if (sabotage) words.push(`--sabotage ${sabotage}`);
  return {
    command: words.join(' '),
    violations: violations.map(({ rule, session = '', what }) => `${rule}: ${session} ${what}`),
  };
}

async function randomHistories(
  { count, seed }: { count: number; seed: string },
  { index, count: shards }: Shard,
): Promise<Summary> {
  const from = cpuSeconds();
  const report: Report = { histories: 0, missed: 0, bad: [] };
  const notes: string[] = [];
  for (let n = index; n < count; n += shards) {
    const plan = randomPlan(String(Number(seed) + n));
    const { violations, hash } = await simulate(plan.seed, plan.scenario, plan.faults);
    report.histories += 1;
    notes.push(`${plan.seed.padStart(8)} ${hash}`);
    if (violations.length > 0) report.bad.push({ ...plan, violations });
  }
  return { ...summaryOf('random', report, from), notes };
}

async function* sabotaged(
  { names, seed }: { names: readonly Sabotage[]; seed: string },
  { index, count }: Shard,
): AsyncGenerator<Summary, void, void> {
  for (const sabotage of names.filter((_, at) => at % count === index)) {
    const from = cpuSeconds();
    const { histories, found } = await findSabotage(sabotage, seed);
    const line = found && lineOf(found);
    const rules = [...new Set(found?.violations.map(({ rule }) => rule))].join(', ');
    yield {
      ...{ name: sabotage, histories, missed: 0, cpuSeconds: cpuSeconds() - from },
      bad: line ? [] : [{ command: `--sabotage ${sabotage}`, violations: ['nothing noticed it'] }],
      notes: line ? [`found by ${rules} in history ${histories}: ${line.command}`] : [],
    };
  }
}

// npm run simulate: runs histories of the whole mesh in one process, in virtual time. `--help` lists the options.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { WrongUsage } from '../command-options.ts';
import { type One, readCommandLine, type Work } from './command-line.ts';
import { describe } from './describe.ts';
import { wholeWork } from './every-crash-point.ts';
import { randomPlan } from './random-history.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';
import { addUp, carryOut, type Summary } from './work.ts';

/** The number of bad histories of a part that are printed. */
const mostBad = 10;

async function main(args: readonly string[]): Promise<number> {
  const work = readCommandLine(args);
  if (work.do === 'help') {
    console.log(work.text);
    return 0;
  }
  if (work.do === 'one') return await runOne(work.plan);
  if (work.shard) return await tellParent(work);
  return await runSearch(work, args);
}

async function runOne(plan: One): Promise<number> {
  const result = await simulate(plan.seed, plan.scenario, plan.faults, { keepsTrace: true });
  for (const line of describe(plan, result)) console.log(line);
  console.log(`1 histories, ${result.violations.length} violations`);
  return result.violations.length > 0 ? 1 : 0;
}

type SearchWork = Extract<Work, { do: 'search' }>;

async function tellParent({ search, shard = wholeWork }: SearchWork): Promise<number> {
  for await (const summary of carryOut(search, shard)) process.send?.(summary);
  process.disconnect?.();
  return 0;
}

async function runSearch(work: SearchWork, args: readonly string[]): Promise<number> {
  const parts = new Map<string, Summary[]>();
  const { search, workers = availableParallelism() } = work;
  const shards = search.do === 'sabotages' ? 1 : workers;
  await collect({ ...work, workers }, args, (summary) => {
    const shardsOfPart = [...(parts.get(summary.name) ?? []), summary];
    parts.set(summary.name, shardsOfPart);
    if (shardsOfPart.length === shards) print(shardsOfPart.reduce(addUp), work);
  });
  let [histories, violations] = [0, 0];
  for (const shardsOfPart of parts.values()) {
    const part = shardsOfPart.reduce(addUp);
    histories += part.histories;
    violations += part.bad.length;
    if (search.do === 'random') await printSmallest(part);
  }
  console.log(`${histories} histories, ${violations} violations`);
  return violations > 0 ? 1 : 0;
}

/** Carries a search out in this process, or in several processes that share it. */
async function collect(
  { search, workers }: SearchWork & { workers: number },
  args: readonly string[],
  take: (summary: Summary) => void,
): Promise<void> {
  if (workers === 1) {
    for await (const summary of carryOut(search, wholeWork)) take(summary);
    return;
  }
  const work = Array.from({ length: workers }, async (_, index) => {
    const child = fork(import.meta.filename, [...args, '--shard', `${index}/${workers}`]);
    child.on('message', (summary) => take(summary as Summary));
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`worker ${index} ended with ${code}`);
  });
  await Promise.all(work);
}

function print(
  { name, histories, missed, cpuSeconds, bad, notes }: Summary,
  { search, hashes }: SearchWork,
): void {
  const figures = `${histories} histories, ${missed} faults not reached, ${cpuSeconds.toFixed(1)} CPU s`;
  console.log(`${name}: ${figures}`);
  if (search.do !== 'random' || hashes) for (const note of notes) console.log(`  ${note}`);
  for (const { command, violations } of bad.slice(0, mostBad)) {
    console.log(`  ${command}`);
    for (const violation of violations.slice(0, 5)) console.log(`    ${violation}`);
  }
}

/** Prints the first bad random history without the parts that it does not need. */
async function printSmallest({ bad }: Summary): Promise<void> {
  const [first] = bad;
  const seed = /--seed (\d+)/.exec(first?.command ?? '')?.[1];
  if (!first || seed === undefined) return;
  const rules = new Set(first.violations.map((violation) => violation.split(':')[0] ?? ''));
  const omitted = await shrink(randomPlan(seed), rules);
  console.log(`smallest: ${first.command}${omitted.length > 0 ? ` --omit ${omitted.join(',')}` : ''}`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof WrongUsage ? error.message : error);
  process.exitCode = error instanceof WrongUsage ? 2 : 1;
}

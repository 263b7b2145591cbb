import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describe, figuresOf, violatingHistory } from './report.ts';
import { type ChaosOptions, runChaos } from './run-chaos.ts';

/** The least share of the offered work that must be completed, so that a run cannot pass by doing nothing. */
const leastShare = 0.95;

const number = (value: string | undefined, fallback: number): number => {
  const read = value === undefined ? fallback : Number(value);
  if (!Number.isSafeInteger(read) || read < 0) throw new Error(`${value} is no whole number`);
  return read;
};

function readOptions(): ChaosOptions & { verbose: boolean } {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{
        runs: text,
        seed: text,
        clients: text,
        'at-once': text,
        'kill-every': text,
        'come-back': text,
        'nats-servers': text,
      },
      verbose: { type: 'boolean', default: false },
    },
  });
  return {
    runs: number(values.runs, 2_000),
    seed: number(values.seed, Math.floor(Math.random() * 1e9)),
    clients: number(values.clients, 12),
    atOnce: number(values['at-once'], 1),
    killEveryMs: number(values['kill-every'], 1_000),
    natsServers: number(values['nats-servers'], 1),
    comeBack: values['come-back'] === 'poll' ? 'poll' : 'reattach',
    verbose: values.verbose,
  };
}

async function main(signal: AbortSignal): Promise<number> {
  const { verbose, ...options } = readOptions();
  const { seed, runs } = options;
  console.log(`npm run chaos -- --runs ${runs} --seed ${seed}`);
  const result = await runChaos({
    ...options,
    signal,
    onDone: (done) => {
      if (done % 100 === 0) console.log(`  ${done} of ${runs}`);
    },
    ...(verbose && {
      onFault: (what: string) => console.log(`  killing ${what}`),
      onLine: (replica: string, line: string) => console.log(`  ${replica}  ${line}`),
    }),
  });
  console.log(describe(result));
  const { history, violations } = result;
  const { share } = figuresOf(result);
  if (violations.length > 0) {
    const file = join(tmpdir(), `agentmesh-chaos-${seed}.json`);
    await writeFile(file, JSON.stringify(violatingHistory(seed, history, violations), undefined, 1));
    for (const { rule, invocationId, what } of violations.slice(0, 20)) {
      console.log(`  ${rule}: ${invocationId ?? ''} ${what}`);
    }
    console.log(`seed ${seed}; the history is in ${file}`);
  }
  if (share < leastShare)
    console.log(`only ${(100 * share).toFixed(1)} % of the work was completed (seed ${seed})`);
  return violations.length > 0 || share < leastShare ? 1 : 0;
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => stop.abort(new Error(`stopped by ${name}; nothing was judged`)));
}
try {
  process.exitCode = await main(stop.signal);
} catch (error) {
  console.error(stop.signal.aborted ? stop.signal.reason.message : error);
  process.exitCode = 1;
}

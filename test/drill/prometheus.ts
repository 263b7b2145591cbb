import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { endProcess, freePort, spawnGuarded, until } from '@agentmesh/testing';
import type { Stage } from './stage.ts';

const rulesFile = new URL('../../deploy/monitoring/alerts.yaml', import.meta.url);
/** The drill's clock for alerts runs so much faster: a minute of a rule is a second. */
const faster = 60;
/** The longest age of a rule that the drill waits for, in s. */
const longestAge = 5;

/** An alert as Prometheus shows it. */
export interface FiringAlert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: 'pending' | 'firing';
}

/** A real Prometheus that reads the metrics of a mesh and evaluates its alerts. */
export interface Prometheus extends AsyncDisposable {
  /** Returns the alerts that fire. */
  firing(): Promise<FiringAlert[]>;
}

/**
 * Returns the rules of a mesh for a drill: all times are divided by 60, and ages of hours become five seconds. Counts,
 * shares and everything else stay.
 */
function drillRules(): string {
  const seconds = (count: string, unit: string) =>
    Number(count) * { m: 60, h: 3_600, d: 86_400 }[unit as 'm'];
  const shorter = (count: string, unit: string) => `${Math.max(1, seconds(count, unit) / faster)}s`;
  return readFileSync(rulesFile, 'utf8')
    .replace(/(?<=\[|offset |for: )(\d+)([mhd])\b/g, (_, count, unit) => shorter(count, unit))
    .replace(
      /(_age\)|\)\)\)) > (\d{2,})/g,
      (_, before, age) => `${before} > ${Math.min(longestAge, Number(age) / faster)}`,
    );
}

/** Starts Prometheus from the `PATH`. @throws Error when it is not installed */
export async function startPrometheus({ ports, folder }: Stage): Promise<Prometheus> {
  if (spawnSync('prometheus', ['--version']).status !== 0)
    throw new Error('prometheus is not here: apt-get install prometheus');
  const port = await freePort();
  const at = (name: string) => join(folder, name);
  await writeFile(at('rules.yaml'), drillRules());
  await writeFile(
    at('prometheus.yaml'),
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [at('rules.yaml')],
      scrape_configs: [
        { job_name: 'mesh', file_sd_configs: [{ files: [at('targets.json')], refresh_interval: '1s' }] },
      ],
    }),
  );
  const writeTargets = () =>
    writeFile(
      at('targets.json'),
      JSON.stringify([{ targets: [...ports].map((each) => `127.0.0.1:${each}`) }]),
    );
  await writeTargets();
  const flags = [
    `--config.file=${at('prometheus.yaml')}`,
    `--storage.tsdb.path=${at('prometheus')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    // The drill's windows are seconds.
    '--query.lookback-delta=5s',
  ];
  const child = spawnGuarded(['prometheus', ...flags], { stdio: ['ignore', 'ignore', 'ignore'] });
  const stop = new AbortController();
  const writing = (async () => {
    for await (const _ of setInterval(500, undefined, { signal: stop.signal })) await writeTargets();
  })().catch(() => {});
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/-/ready`)).ok, { what: 'Prometheus', timeoutMs: 20_000 });
  return {
    async firing() {
      const answer = (await (await fetch(`${url}/api/v1/alerts`)).json()) as {
        data: { alerts: FiringAlert[] };
      };
      return answer.data.alerts.filter(({ state }) => state === 'firing');
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await writing;
      await endProcess(child, 'SIGTERM', 10_000);
    },
  };
}

/**
 * Runs the suites that use servers, the scenarios and a short chaos run with other versions of the servers.
 *
 * `npm run test:servers -- NATS_PROGRAM,REDIS_PROGRAM …` uses one pair of programs after the other. A Valkey
 * server may take the place of Redis.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';

const usage = 'usage: npm run test:servers -- NATS_PROGRAM,REDIS_PROGRAM [NATS_PROGRAM,REDIS_PROGRAM …]';

interface Pair {
  nats: string;
  redis: string;
}

interface Result {
  pair: string;
  failed: string[];
}

/** The suites for each pair, as arguments of Node. */
const parts: Record<string, string[]> = {
  tests: [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--project=integration',
    ...['libs/bus', 'libs/store', 'libs/testing', 'libs/cli', 'deploy/nats', 'test/scenarios'],
  ],
  chaos: ['test/chaos/main.ts', '--runs', '200', '--seed', '42'],
};

function readPair(text: string): Pair {
  const [nats, redis, ...rest] = text.split(',').map((program) => resolve(program));
  if (!nats || !redis || rest.length > 0) throw new Error(`"${text}" is not a pair of programs; ${usage}`);
  for (const program of [nats, redis]) {
    try {
      accessSync(program, constants.X_OK);
    } catch {
      throw new Error(`${program} is not a program; ${usage}`);
    }
  }
  return { nats, redis };
}

/** Returns the versions that the programs print, on one line. */
function nameOf({ nats, redis }: Pair): string {
  return [nats, redis].map((program) => versionOf(program)).join(' + ');
}

function versionOf(program: string): string {
  const output = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  const version = output.match(/v=?(\d+\.\d+\.\d+)/)?.[1] ?? output;
  return `${output.split(/[\s:]/)[0]} ${version}`;
}

async function run(args: string[], { nats, redis }: Pair): Promise<boolean> {
  const env = { ...process.env, MESH_NATS_BIN: nats, MESH_REDIS_BIN: redis };
  const child = spawn(process.execPath, args, { stdio: 'inherit', env });
  const [code] = await once(child, 'exit');
  return code === 0;
}

async function main(): Promise<number> {
  const texts = process.argv.slice(2);
  if (texts.length === 0) throw new Error(usage);
  const results: Result[] = [];
  for (const pair of texts.map(readPair)) {
    const result: Result = { pair: nameOf(pair), failed: [] };
    results.push(result);
    for (const [part, args] of Object.entries(parts)) {
      console.log(`\n=== ${result.pair}: ${part}\n`);
      if (!(await run(args, pair))) result.failed.push(part);
    }
  }
  console.log();
  for (const { pair, failed } of results)
    console.log(`${pair}: ${failed.length ? `${failed} failed` : 'passed'}`);
  return results.some(({ failed }) => failed.length > 0) ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}

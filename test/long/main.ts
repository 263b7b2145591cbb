// The long tests: `npm run test:long` runs all parts, `npm run test:long -- chaos fuzz` some of them,
// `npm run test:long -- test/scenarios/versions.long.test.ts` one file, and `npm run test:long -- NATS_PROGRAM,REDIS_PROGRAM`
// what uses servers with other versions of them; a Valkey server may take the place of Redis. Ends with a table.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { filePart, type Part, parts, serversPart } from './parts.ts';

const usage = [
  'usage: npm run test:long [-- <part, test file, or NATS_PROGRAM,REDIS_PROGRAM> …]',
  ...parts.map(({ name, meaning }) => `  ${name.padEnd(12)}${meaning}`),
].join('\n');

class WrongUsage extends Error {}

function partOf(word: string): Part {
  const part = parts.find(({ name }) => name === word);
  if (part) return part;
  if (word === 'help') throw new WrongUsage(usage);
  if (word.endsWith('.test.ts')) return filePart(word);
  const [nats, redis, ...rest] = word.split(',').map((program) => resolve(program));
  if (!nats || !redis || rest.length > 0) throw new WrongUsage(`there is no part "${word}"\n${usage}`);
  return serversPart(nats, redis, [nats, redis].map(versionOf).join(' + '));
}

/** Returns the name and version that a server program prints. */
function versionOf(program: string): string {
  try {
    accessSync(program, constants.X_OK);
  } catch {
    throw new WrongUsage(`${program} is not a program\n${usage}`);
  }
  const output = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  return `${output.split(/[\s:]/)[0]} ${/v=?(\d+\.\d+\.\d+)/.exec(output)?.[1] ?? output}`;
}

/** Runs all programs of a part, also after one has failed. Returns its row of the table. */
async function run({ name, meaning, programs, env }: Part): Promise<{ failed: boolean; row: string }> {
  const beganAt = performance.now();
  const failures: string[] = [];
  for (const args of programs) {
    console.log(`\n=== ${name}: node ${args.join(' ')}\n`);
    const child = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...env } });
    const [code, signal] = await once(child, 'exit');
    if (code !== 0) failures.push(`"node ${args.join(' ')}" ended with ${signal ?? code}`);
  }
  const minutes = ((performance.now() - beganAt) / 60_000).toFixed(1);
  const result = failures.length > 0 ? `FAILED: ${failures.join('; ')}` : meaning;
  return { failed: failures.length > 0, row: `${name.padEnd(12)} ${minutes.padStart(6)} min  ${result}` };
}

try {
  const words = process.argv.slice(2);
  const chosen = words.length > 0 ? words.map(partOf) : parts;
  const results: { failed: boolean; row: string }[] = [];
  for (const part of chosen) results.push(await run(part));
  const failed = results.filter((result) => result.failed).length;
  console.log(`\n${results.map(({ row }) => row).join('\n')}\n`);
  console.log(`${results.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
} catch (error) {
  if (!(error instanceof WrongUsage)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

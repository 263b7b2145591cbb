import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { describe, expect, it, onTestFinished } from 'vitest';

/** The folder with programs as people write them for ADK. */
const programs = join(import.meta.dirname, 'idioms');

const require = createRequire(import.meta.url);
const compilerOf = (path: string) => join(dirname(require.resolve(`${path}/package.json`)), 'bin/tsc');
const fastCompiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
const compilers = casesOfTier([
  ['TypeScript 7', fastCompiler],
  ['TypeScript 5.9', compilerOf('typescript-5.9')],
] as const);

const options = {
  target: 'es2024',
  module: 'nodenext',
  lib: ['es2024', 'esnext.disposable', 'esnext.array', 'esnext.collection', 'dom.iterable'],
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  // Our package is TypeScript source, whose imports end in .ts.
  allowImportingTsExtensions: true,
  noImplicitOverride: true,
};

/** Copies the programs with another import, and compiles them. Returns the output of the compiler. */
async function compile(compiler: string, library: string, change = (text: string) => text): Promise<string> {
  const folder = await mkdtemp(join(import.meta.dirname, '.idioms-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const name of await readdir(programs)) {
    const text = await readFile(join(programs, name), 'utf8');
    await writeFile(join(folder, name), change(text.replaceAll("'@google/adk'", `'${library}'`)));
  }
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, include: ['*.ts'] }),
  );
  try {
    return (await promisify(execFile)(process.execPath, [compiler, '-p', folder])).stdout;
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout);
  }
}

describe.each(compilers)('programs written for ADK, by %s', (_name, compiler) => {
  it.each(['@google/adk', '@agentmesh/agent'])('compile with %s', async (library) => {
    expect(await compile(compiler, library)).toBe('');
  });
});

it('do not compile when they are wrong', async () => {
  const wrong = (text: string) => text.replaceAll('getOrCreateSession', 'getOrMakeSession');
  const said = await compile(fastCompiler, '@agentmesh/agent', wrong);
  expect(said).toMatch(/sessions\.ts.* error TS2551: .*getOrMakeSession/);
  expect(said.trim().split('\n')).toHaveLength(1);
});

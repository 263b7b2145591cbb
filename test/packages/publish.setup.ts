import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { startRegistry } from './registry.fixture.ts';
import { release } from './release.fixture.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of a registry that has our packages. */
    registry: string;
    /** The folder of npm's cache for this run. */
    npmCache: string;
    /** The output of the command that published them. */
    published: string;
  }
}

/** Builds the packages and publishes them to a registry of this machine, once for all files of a run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'agentmesh-registry-'));
  const registry = await startRegistry(folder);
  project.provide('registry', registry.url);
  project.provide('npmCache', await createCache(join(folder, 'npm-cache')));
  project.provide('published', await release('--registry', registry.url, '--no-git-checks'));
  return async () => {
    await registry[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  };
}

/**
 * Makes a cache of npm with the contents of the usual one, but without the packages that npx has installed: they
 * may be our packages of an earlier run, which have the same version.
 */
async function createCache(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'cache']);
  const contents = join(stdout.trim(), '_cacache');
  await mkdir(contents, { recursive: true });
  await mkdir(folder);
  await symlink(contents, join(folder, '_cacache'));
  return folder;
}

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linesOf } from './commands.fixture.ts';

const workspace = join(import.meta.dirname, '../../..');

/** A project of a user in a temporary folder, with the packages of this repository. */
export interface Project extends AsyncDisposable {
  root: string;
}

/** Makes a project by `agentmesh init`. Its packages are links into this repository. */
export async function makeProject(...options: string[]): Promise<Project> {
  const place = await mkdtemp(join(tmpdir(), 'agentmesh-project-'));
  const root = join(place, 'shop');
  await linesOf({ env: {}, cwd: place }, ['init', 'shop', ...options]);
  const modules = join(root, 'node_modules');
  await mkdir(join(modules, '@types'), { recursive: true });
  await symlink(join(workspace, 'libs/cli/node_modules/@agentmesh'), join(modules, '@agentmesh'));
  for (const name of ['zod', '@google', '@biomejs', 'typescript', 'vitest', '@types/node'])
    await symlink(join(workspace, 'node_modules', name), join(modules, name));
  await linkAgentmesh(modules);
  return { root, [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true }) };
}

/** Links the package `agentmesh`, or writes one that hands on the same names. */
async function linkAgentmesh(modules: string): Promise<void> {
  const source = join(workspace, 'libs/agentmesh');
  if (existsSync(source)) {
    await symlink(source, join(modules, 'agentmesh'));
    return;
  }
  const folder = join(modules, 'agentmesh');
  await mkdir(folder);
  const exports = { '.': './index.js', './testing': './testing.js' };
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'agentmesh', type: 'module', exports }),
  );
  const doors = { index: ['agent', 'mesh'], testing: ['testing'] };
  for (const [door, names] of Object.entries(doors)) {
    const text = names.map((name) => `export * ${['from', `'@agentmesh/${name}'`].join(' ')};\n`).join('');
    for (const extension of ['js', 'd.ts']) await writeFile(join(folder, `${door}.${extension}`), text);
  }
}

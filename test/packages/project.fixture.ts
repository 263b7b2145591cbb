import { type ChildProcess, execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { spawnGuarded } from '@agentmesh/testing';
import { inject } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** A project of a user, in a folder of its own outside of the repository. */
export interface Project {
  folder: string;
  /** Installs packages as `npm install` does. */
  install(...packages: string[]): Promise<void>;
  write(files: Record<string, string>): Promise<void>;
  /** Runs a program in the folder. Returns what it prints. @throws Error with all of its output */
  run(program: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>;
  /** Starts a program in the folder that goes on running. Its errors are shown. */
  start(command: readonly string[], env: NodeJS.ProcessEnv): ChildProcess;
}

/** Makes a project that installs from the registry at `registry`. */
export async function createProject(folder: string, registry: string): Promise<Project> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  return openProject(folder, registry);
}

/** Opens a folder as a project that installs from the registry at `registry`. */
export function openProject(folder: string, registry: string): Project {
  const surroundings = surroundingsOf(registry);
  const run: Project['run'] = async (program, args, env) => {
    try {
      const options = { cwd: folder, env: { ...surroundings, ...env }, maxBuffer: 16 * 1024 * 1024 };
      return (await promisify(execFile)(program, args, options)).stdout;
    } catch (cause) {
      const { stdout, stderr } = cause as { stdout?: string; stderr?: string };
      throw new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`, { cause });
    }
  };
  return {
    folder,
    run,
    start(command, env) {
      const stdio: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit'];
      return spawnGuarded(command, { stdio, cwd: folder, env: { ...surroundings, ...env } });
    },
    async install(...packages) {
      await run('npm', ['install', '--no-audit', '--no-fund', ...packages]);
    },
    async write(files) {
      await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
    },
  };
}

/** Returns the environment of a user: nothing of this repository, of npm or of Vitest. */
function surroundingsOf(registry: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|pnpm_|vitest|mesh_|node_options|node_env|gemini_|google_)/i.test(name),
  );
  const path = process.env.PATH?.split(':').filter((each) => !each.startsWith(root));
  return {
    ...Object.fromEntries(inherited),
    PATH: path?.join(':'),
    npm_config_registry: registry,
    npm_config_cache: inject('npmCache'),
    NO_COLOR: '1',
  };
}

/** Returns the files that the README of the package `agentmesh` shows, by their names. */
export async function filesOfReadme(): Promise<Record<string, string>> {
  const page = await readFile(join(root, 'libs/agentmesh/README.md'), 'utf8');
  const blocks = page.matchAll(/^`([\w.-]+\.ts)`(?:(?!^#)[^`]|`(?!``))*?```ts\n(.*?)^```$/gms);
  return Object.fromEntries([...blocks].map(([, name = '', text = '']) => [name, text]));
}

/** Returns TypeScript files without types as modules of JavaScript. */
export function asJavaScript(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      name.replace(/\.ts$/, '.mjs'),
      text.replaceAll(/('\.\/[^']+)\.ts'/g, "$1.mjs'"),
    ]),
  );
}

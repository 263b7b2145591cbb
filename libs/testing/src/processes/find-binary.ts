import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isAtLeast, oldestNats } from '@agentmesh/protocol';

// Debian puts nats-server in /usr/sbin, which is not on an ordinary user's path.
const usualPlaces = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

const binaries = {
  'nats-server': { variable: 'MESH_NATS_BIN', brew: 'nats-server' },
  'redis-server': { variable: 'MESH_REDIS_BIN', brew: 'redis' },
} as const;

export type BinaryName = keyof typeof binaries;

/**
 * Finds the path of a server's program: from its variable, else on the PATH or in the usual folders; else
 * undefined.
 */
export function findBinary(name: BinaryName): string | undefined {
  const configured = process.env[binaries[name].variable];
  if (configured) return configured;
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...usualPlaces];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

const versions = new Map<string, string>();

/** Returns why the program of a server cannot be used, in words; undefined if it can. */
export function binaryProblem(name: BinaryName): string | undefined {
  const path = findBinary(name);
  if (path === undefined) return `${name} not found`;
  if (name !== 'nats-server') return undefined;
  const version = versions.get(path) ?? versionOf(path);
  versions.set(path, version);
  if (isAtLeast(version, oldestNats)) return undefined;
  return `nats-server ${version} is too old (${oldestNats} is needed; MESH_NATS_BIN names another program)`;
}

function versionOf(path: string): string {
  const { stdout, stderr } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return /(\d+\.\d+\.\d+)/.exec(`${stdout}${stderr}`)?.[1] ?? 'of an unknown version';
}

/**
 * Finds the path of a server's program, as {@link findBinary} does.
 *
 * @throws Error that says what to install, also for one that is too old
 */
export function requireBinary(name: BinaryName): string {
  const { variable, brew } = binaries[name];
  const path = findBinary(name);
  if (path === undefined) {
    throw new Error(
      `${name} is not installed. Run "apt-get install -y ${name}" (Debian, Ubuntu) or "brew install ${brew}" (macOS), ` +
        `start Docker, or set ${variable} to the path of the program`,
    );
  }
  if (!isExecutable(path)) throw new Error(`${variable}=${path} is not a program that can be run`);
  const problem = binaryProblem(name);
  if (problem !== undefined) throw new Error(problem);
  return path;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

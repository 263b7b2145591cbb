import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

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

/**
 * Finds the path of a server's program, as {@link findBinary} does.
 *
 * @throws Error that says what to install
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

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

// Debian puts nats-server in /usr/sbin, which is not on an ordinary user's path.
const usualPlaces = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

const wanted = {
  'nats-server': { variable: 'MESH_NATS_BIN', brew: 'nats-server' },
  'redis-server': { variable: 'MESH_REDIS_BIN', brew: 'redis' },
} as const;

export type BinaryName = keyof typeof wanted;

/** Where a server's program lies: as its variable says, else on the path or where packages put it; else undefined. */
export function findBinary(name: BinaryName): string | undefined {
  const named = process.env[wanted[name].variable];
  if (named) return named;
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...usualPlaces];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** As {@link findBinary}. @throws Error that says what to install */
export function requireBinary(name: BinaryName): string {
  const { variable, brew } = wanted[name];
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

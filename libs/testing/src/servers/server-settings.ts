import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsOptions, RedisOptions } from './server.ts';

/** The part of nats-server.conf that a local server and one in a container share. */
export function natsConfiguration(
  storeDir: string,
  { configuration, jetstream = true }: NatsOptions,
): string {
  const store = jetstream ? `jetstream { store_dir: ${JSON.stringify(storeDir)} }\n` : '';
  return `${store}${configuration ?? ''}\n`;
}

/**
 * The argument that names a file with the password, which it writes: what stands in the arguments of a process everybody may read.
 *
 * @param seenAs the folder as the server sees it
 */
export function passwordFile(folder: string, seenAs: string, { password }: RedisOptions): string[] {
  if (password === undefined) return [];
  writePrivate(join(folder, 'redis.conf'), `requirepass "${password}"\n`);
  return [join(seenAs, 'redis.conf')];
}

/** The user and password as a url has them. */
export function loginOf({ password }: RedisOptions): string {
  return password === undefined ? '' : `:${password}@`;
}

/** Writes a file that its owner alone reads. */
export function writePrivate(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  // One that was there keeps its mode.
  chmodSync(file, 0o600);
}

/** The arguments that a local server and one in a container share. */
export function redisArguments(dir: string, { appendOnly = false, extraArgs = [] }: RedisOptions): string[] {
  return ['--dir', dir, '--save', '', '--appendonly', appendOnly ? 'yes' : 'no', ...extraArgs];
}

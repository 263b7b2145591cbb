import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsOptions, RedisOptions } from './server.ts';

/** Returns the part of nats-server.conf that is the same for a local server and for a container. */
export function natsConfiguration(
  storeDir: string,
  { configuration, jetstream = true, maxFileBytes }: NatsOptions,
): string {
  const limit = maxFileBytes === undefined ? '' : `, max_file_store: ${maxFileBytes}`;
  const usesResolver = configuration?.includes(accountsVariable) ?? false;
  const accounts = usesResolver
    ? `${accountsVariable.slice(1)}: ${JSON.stringify(`${storeDir}-accounts`)}\n`
    : '';
  const store = jetstream ? `jetstream { store_dir: ${JSON.stringify(storeDir)}${limit} }\n` : '';
  return `${store}${accounts}${configuration ?? ''}\n`;
}

/**
 * Returns the variables of nats-server's process. The heap of a small server is small, so that Go would collect its
 * garbage often: with `GOGC=400` messages between accounts cost the server less CPU time, and it has some 20 MiB more. A
 * `GOGC` of one's own counts. Figures: `docs/performance.md`.
 */
export function natsEnvironment(): Record<string, string> {
  return { GOGC: process.env.GOGC || '400' };
}

/** The variable by which a configuration names the folder in which the server keeps accounts in the JWT form. */
const accountsVariable = '$NATS_ACCOUNTS_DIR';

/**
 * Writes the password and the users to files and returns the argument with the path of that file. Everybody can read the
 * arguments of a process, so the password must not be among them.
 *
 * @param seenAs the path under which the server sees the folder
 */
export function passwordFile(folder: string, seenAs: string, { password, users }: RedisOptions): string[] {
  if (password === undefined && users === undefined) return [];
  if (users === undefined) writePrivate(join(folder, 'redis.conf'), `requirepass "${password}"\n`);
  else {
    const proof = password === undefined ? 'nopass' : `>${password}`;
    writePrivate(join(folder, 'users.acl'), `user default on ${proof} ~* &* +@all\n${users}`);
    writePrivate(join(folder, 'redis.conf'), `aclfile "${join(seenAs, 'users.acl')}"\n`);
  }
  return [join(seenAs, 'redis.conf')];
}

/** Returns the user and password in the form of a url. */
export function loginOf({ password }: RedisOptions): string {
  return password === undefined ? '' : `:${password}@`;
}

/** Writes a file that only its owner may read. */
export function writePrivate(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  // An existing file keeps its mode when it is written.
  chmodSync(file, 0o600);
}

/** Returns the arguments that are the same for a local server and for a container. */
export function redisArguments(dir: string, { appendOnly = false, extraArgs = [] }: RedisOptions): string[] {
  return ['--dir', dir, '--save', '', '--appendonly', appendOnly ? 'yes' : 'no', ...extraArgs];
}

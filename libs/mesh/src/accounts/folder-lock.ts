import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';

const retryMs = 100;

/**
 * Locks a folder of keys for this process: two commands at once would overwrite each other's keys. A lock of a
 * process of this machine that has ended is taken over.
 *
 * @param options.waitMs longest wait for another command, in ms; default none
 * @throws MeshError `failed_precondition` that names the process that holds the lock
 */
export async function lockKeys(
  folder: string,
  { waitMs = 0 }: { waitMs?: number } = {},
): Promise<AsyncDisposable> {
  const file = join(folder, 'lock');
  // The lock must appear with its contents: an empty one would count as left over.
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, `${process.pid} ${hostname()}`, { mode: 0o600 });
  const giveUpAt = performance.now() + waitMs;
  try {
    for (;;) {
      const holder = await take(file, fresh);
      if (holder === undefined) return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
      if (performance.now() >= giveUpAt) throw lockedBy(holder, file);
      await delay(retryMs);
    }
  } finally {
    await rm(fresh, { force: true });
  }
}

/** Takes the lock. Returns the process that holds it, or undefined if it is ours. */
async function take(file: string, fresh: string): Promise<string | undefined> {
  for (;;) {
    try {
      await link(fresh, file);
      return undefined;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const holder = await readFile(file, 'utf8').catch(() => '');
    const [pid, host] = holder.split(' ');
    if (holder !== '' && (host !== hostname() || isAlive(Number(pid)))) return holder;
    await rm(file, { force: true });
  }
}

function lockedBy(holder: string, file: string): MeshError {
  const [pid, host] = holder.split(' ');
  const advice = `wait until it has ended; if it has, delete ${file}`;
  return new MeshError(
    'failed_precondition',
    `another command works on these keys (process ${pid} on ${host}); ${advice}`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

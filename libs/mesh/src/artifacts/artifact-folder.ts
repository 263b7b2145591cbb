import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MeshError } from '@agentmesh/protocol';

/** Time limit for a folder to answer, in ms: a folder on an unreachable server may never answer. */
const longestMs = 5_000;

/**
 * Checks that artifacts can be kept in the configured place, before the process serves anything: writes a
 * file to the folder and removes it.
 *
 * @throws MeshError `failed_precondition` when the folder cannot be used, or does not answer within five
 * seconds
 */
export async function assertArtifacts(where: string, use = tryFolder, withinMs = longestMs): Promise<void> {
  if (where === 'nats') return;
  const timeLimit = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeLimit.reject(new Error(`no answer within ${withinMs} ms`)), withinMs);
  try {
    const check = use(fileURLToPath(where));
    // The check may fail after the time limit, when nothing waits for it any more.
    check.catch(() => {});
    await Promise.race([check, timeLimit.promise]);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError(
      'failed_precondition',
      `MESH_ARTIFACTS: the folder ${where} cannot be used: ${why}; mount it, and let this process write there`,
      { cause },
    );
  } finally {
    clearTimeout(timer);
  }
}

async function tryFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `.try-${randomUUID()}`);
  await writeFile(file, '');
  await rm(file);
}

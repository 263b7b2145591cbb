import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MeshError } from '@agentmesh/protocol';

/** How long a folder may take to answer, in ms: one on a server that is away may never. */
const longestMs = 5_000;

/**
 * Looks whether artifacts can be kept where the configuration says, before anything is served: in a folder a file is written and removed.
 *
 * @throws MeshError `failed_precondition` when they cannot be, or when the folder does not answer within five seconds
 */
export async function assertArtifacts(where: string, use = tryFolder, withinMs = longestMs): Promise<void> {
  if (where === 'nats') return;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${withinMs} ms`)), withinMs);
  try {
    const used = use(fileURLToPath(where));
    // It may fail when nobody waits any more.
    used.catch(() => {});
    await Promise.race([used, late.promise]);
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

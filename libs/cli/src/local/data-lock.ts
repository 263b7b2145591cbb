import { randomUUID } from 'node:crypto';
import { chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import { MeshError } from '@agentmesh/protocol';
import { makeFolder } from './make-folder.ts';

/** The locks of this process. */
const held = new Set<string>();

/**
 * Locks a data folder for this process: two servers on the same files would overwrite each other's data.
 *
 * @param advice what a person does about another mesh on this folder
 * @throws MeshError `failed_precondition` that names the process that holds the lock
 */
export async function lockFolder(
  folder: string,
  advice = 'stop it, or set MESH_DATA_DIR to another folder',
): Promise<AsyncDisposable> {
  const file = `${folder}/mesh.pid`;
  await makeFolder(folder, 0o700);
  // The folder holds the passwords and the data of the mesh.
  await chmod(folder, 0o700);
  // The lock must appear with its contents: an empty one would count as left over.
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, String(process.pid), { mode: 0o600 });
  try {
    return await take(file, fresh, { folder, advice });
  } finally {
    await rm(fresh, { force: true });
  }
}

async function take(
  file: string,
  fresh: string,
  { folder, advice }: { folder: string; advice: string },
): Promise<AsyncDisposable> {
  for (;;) {
    try {
      await link(fresh, file);
      held.add(file);
      return {
        async [Symbol.asyncDispose]() {
          held.delete(file);
          await rm(file, { force: true });
        },
      };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const holder = Number(await readFile(file, 'utf8').catch(() => ''));
    // The number of this process is that of an earlier one with the same, as in a container, unless it is held here.
    if (holder === process.pid ? held.has(file) : isAlive(holder)) {
      throw new MeshError(
        'failed_precondition',
        `a mesh already runs on ${folder} (process ${holder}): ${advice}; if no mesh runs there, remove ${file}`,
      );
    }
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

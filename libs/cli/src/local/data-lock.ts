import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * Locks a data folder for this process: two servers on the same files would overwrite each other's data.
 *
 * @param advice what a person does about another mesh on this folder
 * @throws Error that names the process that holds the lock
 */
export async function lockFolder(
  folder: string,
  advice = 'stop it, or set MESH_DATA_DIR to another folder',
): Promise<AsyncDisposable> {
  const file = `${folder}/mesh.pid`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The folder holds the passwords and the data of the mesh.
  await chmod(folder, 0o700);
  for (;;) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx', mode: 0o600 });
      return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const holder = Number(await readFile(file, 'utf8').catch(() => ''));
    if (isAlive(holder)) {
      throw new Error(`a mesh already runs on ${folder} (process ${holder}): ${advice}`);
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

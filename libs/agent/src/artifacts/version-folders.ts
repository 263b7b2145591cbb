import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MeshError } from '@agentmesh/protocol';

/** Age after which an unfinished write counts as abandoned, in ms. */
const abandonedMs = 86_400_000;
const triesAtVersion = 1_000;

/**
 * Makes a path segment of a name: the plain letters of the name for people, and its hash, which distinguishes
 * the name from all other names even on disks that ignore case.
 */
export function part(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 32);
  return `${plain}.${hash}`;
}

/** Moves a version to the next free number. A folder is never renamed onto a folder with content. */
export async function takeVersion(unfinished: string, folder: string): Promise<number> {
  for (let tries = 0; tries < triesAtVersion; tries += 1) {
    await mkdir(folder, { recursive: true });
    const version = ((await versionsIn(folder)).at(-1) ?? -1) + 1;
    try {
      await rename(unfinished, join(folder, String(version)));
      await syncFolder(folder);
      return version;
    } catch (error) {
      // The number was taken meanwhile, or a deletion has removed the empty folder.
      if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw error;
    }
  }
  throw new MeshError('unavailable', `no version number was free in ${triesAtVersion} tries; try again`);
}

/** Writes the record after the content is on the disk. The record is on the disk when this resolves. */
export async function writeThrough(path: string, text: string, content: string): Promise<void> {
  const bytes = await open(content, 'r+');
  await bytes.sync();
  await bytes.close();
  const handle = await open(path, 'wx');
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
}

/** Syncs a folder, because only then does a rename survive a loss of power. Not every system supports it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

export async function versionsIn(folder: string): Promise<number[]> {
  const names = (await list(folder)).filter((name) => /^\d+$/.test(name));
  return names.map(Number).sort((a, b) => a - b);
}

export async function list(folder: string): Promise<string[]> {
  return (await unlessMissing(readdir(folder))) ?? [];
}

export async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error) => {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw error;
  });
}

/** Removes unfinished writes of processes that have died. */
export async function sweep(folder: string): Promise<void> {
  for (const name of await list(folder)) {
    const path = join(folder, name);
    const status = await unlessMissing(stat(path));
    if (status && status.mtimeMs < Date.now() - abandonedMs) await rm(path, { recursive: true, force: true });
  }
}

export async function unlessMissing<T>(doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

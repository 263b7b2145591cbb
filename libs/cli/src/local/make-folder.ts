import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MeshError } from '@agentmesh/protocol';

/**
 * Makes a folder and the missing folders above it, one after the other: Node's recursive `mkdir` never ends in a
 * file system that takes no folders, such as `/proc`. Returns the first folder that it made; undefined when all
 * were there.
 *
 * @param mode the mode of new folders, such as 0o700
 * @throws MeshError `failed_precondition` for a place that cannot be written
 */
export async function makeFolder(path: string, mode?: number): Promise<string | undefined> {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder); folder = dirname(folder)) {
    missing.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of missing) {
    try {
      await mkdir(folder, mode);
    } catch (cause) {
      // Another process has made it meanwhile.
      if (await isFolder(folder)) continue;
      throw notMade(path, cause);
    }
  }
  return missing[0];
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function notMade(path: string, cause: unknown): MeshError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new MeshError(
    'failed_precondition',
    `the folder ${path} cannot be made: ${why}; name a place that you may write`,
    { cause },
  );
}

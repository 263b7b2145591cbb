import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { MeshError } from '@agentmesh/protocol';

/** The package of ADK that has its web UI, in the folder `browser` beside its code. */
const packageName = '@google/adk-devtools';

/**
 * Returns the folder with the files of ADK's web UI.
 *
 * @param setting `1` for the web UI of the installed package, else a folder
 * @param places the files from which the package is searched: this module, and a file of the folder in which
 * the process runs
 * @throws MeshError `failed_precondition` when the package is not installed or the folder has no web UI
 */
export function findWebUi(
  setting: string,
  places: readonly string[] = [import.meta.url, join(process.cwd(), 'package.json')],
): string {
  const folder = setting === '1' ? folderOfPackage(places) : resolve(setting);
  if (existsSync(join(folder, 'index.html'))) return folder;
  throw new MeshError(
    'failed_precondition',
    `MESH_ADK_WEB is ${setting}, but ${folder} holds no index.html; name the folder of the web UI: in the package ${packageName} it is dist/browser`,
  );
}

function folderOfPackage(places: readonly string[]): string {
  for (const from of places) {
    try {
      return join(dirname(createRequire(from).resolve(packageName)), '..', 'browser');
    } catch (error) {
      if (Reflect.get(Object(error), 'code') !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new MeshError(
    'failed_precondition',
    `MESH_ADK_WEB is 1, but the package ${packageName} is not installed; install it (npm install --save-dev ${packageName}), or set MESH_ADK_WEB to the folder of the web UI`,
  );
}

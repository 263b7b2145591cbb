import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { joinedPackages, joinModules } from './join-modules.ts';

/** The root of the repository. */
export const root = join(import.meta.dirname, '..', '..');

/** The package that depends on all others, and the client, which stands alone. */
const everything = ['libs/agentmesh/tsconfig.build.json', 'libs/client/tsconfig.build.json'];

/** Lists the folders of the packages that are published: the libraries, the gateway and the keeper. */
export function publishedFolders(): string[] {
  const folders = [
    ...readdirSync(join(root, 'libs')).map((name) => `libs/${name}`),
    'services/gateway',
    'services/keeper',
  ];
  return folders.filter((folder) => {
    const { private: isPrivate = false } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    );
    return !isPrivate;
  });
}

/**
 * Compiles every published package into its folder `dist`: modules, declarations and source maps. The modules of some
 * are [joined](./join-modules.ts). Files of an earlier build are removed first, because everything in `dist` is
 * published.
 *
 * @throws Error with the compiler's messages
 */
export async function buildPackages(): Promise<void> {
  for (const folder of publishedFolders())
    rmSync(join(root, folder, 'dist'), { recursive: true, force: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    await promisify(execFile)(process.execPath, [compiler, '--build', ...everything, '--pretty', 'false'], {
      cwd: root,
    });
  } catch (cause) {
    const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string };
    throw new Error(`the packages do not compile:\n${stdout}${stderr}`, { cause });
  }
  for (const folder of joinedPackages) await joinModules(join(root, folder));
}

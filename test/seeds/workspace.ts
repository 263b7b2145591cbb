import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const agent = join(import.meta.dirname, '../../libs/agent');

/** The packages that the programs import, and our folders for them. */
const packages = {
  '@google/adk': agent,
  '@google/genai': join(agent, 'node_modules/@google/genai'),
  zod: join(agent, 'node_modules/zod'),
};

/**
 * Makes a folder outside the project in which `@google/adk` is our library. It is removed when the result is
 * disposed.
 */
export async function makeWorkspace(): Promise<{ folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'agentmesh-programs-'));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  for (const [name, target] of Object.entries(packages)) {
    const link = join(folder, 'node_modules', name);
    await mkdir(join(link, '..'), { recursive: true });
    await symlink(await realpath(target), link, 'junction');
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

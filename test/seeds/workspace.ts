import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const agent = join(import.meta.dirname, '../../libs/agent');

/** What the programs import, and where it lies here. */
const packages = {
  '@google/adk': agent,
  '@google/genai': join(agent, 'node_modules/@google/genai'),
  zod: join(agent, 'node_modules/zod'),
};

/** A fresh folder outside the project in which `@google/adk` is our library; it goes with its end. */
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

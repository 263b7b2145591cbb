import { existsSync, readdirSync } from 'node:fs';
import { App, BaseAgent, BaseTool } from '@agentmesh/agent';

export { missingServices } from '@agentmesh/cli/missing-services';

import { agentManifest, busName, type ServiceManifest, toolManifest } from '@agentmesh/mesh';

/** A service of this repository: its definition, and the folder of its package. */
export interface Sample {
  manifest: ServiceManifest;
  folder: string;
}

const root = new URL('../../', import.meta.url);

/**
 * All agents and tools of the repository: the packages below `services/agents` and `services/tools`, whose
 * `src/agent.ts` or `src/tool.ts` exports the definition. Their rights on the bus and in Redis are derived
 * from it.
 */
export const samples: readonly Sample[] = [
  ...(await discover('services/agents', 'src/agent.ts')),
  ...(await discover('services/tools', 'src/tool.ts')),
];

async function discover(parent: string, file: string): Promise<Sample[]> {
  const folders = readdirSync(new URL(parent, root))
    .sort()
    .map((name) => `${parent}/${name}`);
  const defined = folders.filter((folder) => existsSync(new URL(`${folder}/${file}`, root)));
  return await Promise.all(
    defined.map(async (folder) => ({ folder, manifest: await manifestIn(`${folder}/${file}`) })),
  );
}

async function manifestIn(path: string): Promise<ServiceManifest> {
  const exported: unknown[] = Object.values(await definitionsIn(path));
  // The root agent of an app is exported twice: as an agent, and by its app.
  const app = exported.find((each) => each instanceof App);
  if (app) return agentManifest(app);
  const definition = exported.find((each) => each instanceof BaseAgent || each instanceof BaseTool);
  if (definition instanceof BaseAgent) return agentManifest(definition);
  if (definition) return toolManifest(definition);
  throw new Error(`${path} exports no agent and no tool`);
}

async function definitionsIn(path: string): Promise<object> {
  try {
    return await import(new URL(path, root).href);
  } catch (cause) {
    throw new Error(`${path} cannot be read: ${describeImportError(cause)}`, { cause });
  }
}

/**
 * Returns the message of an error. For a syntax error it adds the line of the source, which Node puts before
 * the stack.
 */
export function describeImportError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [, place] = /^(?:file:\/\/)?(\/.*:\d+)\n/.exec(error.stack ?? '') ?? [];
  return place === undefined ? error.message : `${error.message} (${place.replace(root.pathname, '')})`;
}

/** Refuses two services with one name. @throws Error that names both folders */
export function assertDistinct(services: readonly Sample[]): void {
  const folders = new Map<string, string>();
  for (const { manifest, folder } of services) {
    const user = busName(manifest);
    const other = folders.get(user);
    if (other !== undefined) {
      throw new Error(
        `${manifest.kind} ${manifest.name} is defined twice, in ${other} and in ${folder}; give one of them another name`,
      );
    }
    folders.set(user, folder);
  }
}

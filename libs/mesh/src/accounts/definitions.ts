import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App, BaseAgent, BaseTool } from '@agentmesh/agent';
import { assertName, MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { agentManifest, busName, type ServiceManifest, toolManifest } from '../rights/service-manifest.ts';

const names = z.array(z.string());
const fields = {
  kind: z.enum(['agent', 'tool']),
  name: z.string(),
  description: z.string().optional(),
  globalInstruction: z.string().optional(),
  transfers: names.default([]),
  asks: names.default([]),
  calls: names.default([]),
  offers: names.optional(),
  longRunning: z.boolean().optional(),
  app: z.string().optional(),
  usesMemory: z.boolean().optional(),
  credentialKeys: names.optional(),
} satisfies Record<keyof ServiceManifest, z.ZodType>;

/** The facts about services, as a file of JSON holds them. */
export const definitionsSchema: z.ZodType<ServiceManifest[]> = z.array(
  z.strictObject(fields).transform(({ kind, name, transfers, asks, calls, ...optional }) => ({
    ...{ kind, name, transfers, asks, calls },
    ...onlyDefined(optional),
  })),
);

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function onlyDefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/**
 * Reads the definitions of services: a JSON file with a list of them, or a module that exports agents and
 * tools.
 *
 * @throws MeshError `invalid_argument` for a file without definitions, and for two services with one name
 */
export async function readDefinitions(file: string): Promise<ServiceManifest[]> {
  const services = file.endsWith('.json') ? await readList(file) : manifestsIn(await importModule(file));
  if (services.length === 0)
    throw new MeshError('invalid_argument', `${file} defines no service; export an agent or a tool`);
  for (const { kind, name } of services) if (kind === 'agent' || kind === 'tool') assertName(kind, name);
  const names = services.map(busName);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new MeshError('invalid_argument', `${file} defines ${twice} twice; rename one of them`);
  return services;
}

async function readList(file: string): Promise<ServiceManifest[]> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new MeshError('invalid_argument', `${file} cannot be read: ${reasonOf(cause)}`, { cause });
  }
  return parse(definitionsSchema, value, file);
}

async function importModule(file: string): Promise<object> {
  try {
    return await import(pathToFileURL(resolve(file)).href);
  } catch (cause) {
    throw new MeshError('invalid_argument', `${file} cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

/**
 * Returns the manifests of all exported apps, agents and tools, also in lists, and of objects with a `manifest`.
 * An agent below another one is no service, and the root of an exported app is that of the app.
 */
function manifestsIn(exported: object): ServiceManifest[] {
  const values = [...new Set<unknown>(Object.values(exported).flat())];
  const roots = values.flatMap((each) => (each instanceof App ? each.rootAgent : []));
  return values.flatMap((each) => {
    if (each instanceof App) return [agentManifest(each)];
    if (each instanceof BaseAgent)
      return each.parentAgent || roots.includes(each) ? [] : [agentManifest(each)];
    if (each instanceof BaseTool) return [toolManifest(each)];
    const hasManifest = typeof each === 'object' && each !== null && 'manifest' in each;
    return hasManifest ? parse(definitionsSchema, [each.manifest], 'the manifest') : [];
  });
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

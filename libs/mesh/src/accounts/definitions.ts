import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BaseAgent, BaseTool } from '@agentmesh/agent';
import { assertName, MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { agentManifest, busName, type ServiceManifest, toolManifest } from '../rights/service-manifest.ts';

/** The facts about services, as a file of JSON holds them. */
export const definitionsSchema: z.ZodType<ServiceManifest[]> = z.array(
  z
    .strictObject({
      kind: z.enum(['agent', 'tool']),
      name: z.string(),
      transfers: z.array(z.string()).default([]),
      asks: z.array(z.string()).default([]),
      calls: z.array(z.string()).default([]),
      offers: z.array(z.string()).optional(),
      longRunning: z.boolean().optional(),
    })
    .transform(({ offers, longRunning, ...needed }) => ({
      ...needed,
      ...(offers && { offers }),
      ...(longRunning !== undefined && { longRunning }),
    })),
);

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
 * Returns the manifests of all exported agents and tools, also in lists, and of objects with a `manifest`. An
 * agent below another one is no service.
 */
function manifestsIn(exported: object): ServiceManifest[] {
  return [...new Set<unknown>(Object.values(exported).flat())].flatMap((each) => {
    if (each instanceof BaseAgent) return each.parentAgent ? [] : [agentManifest(each)];
    if (each instanceof BaseTool) return [toolManifest(each)];
    const hasManifest = typeof each === 'object' && each !== null && 'manifest' in each;
    return hasManifest ? parse(definitionsSchema, [each.manifest], 'the manifest') : [];
  });
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

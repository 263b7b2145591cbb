import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App, BaseAgent, BaseTool } from '@agentmesh/agent';
import { assertName, MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { agentManifest, busName, type ServiceManifest, toolManifest } from '../rights/service-manifest.ts';

const names = z.array(z.string());
const fields = {
  kind: z.enum(['agent', 'tool', 'publisher']),
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
  usesArtifacts: z.boolean().optional(),
  credentialKeys: names.optional(),
  listens: z.boolean().optional(),
  joined: z.boolean().optional(),
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
  const services = file.endsWith('.json')
    ? await readList(file)
    : manifestsIn(await importModule(file), file);
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
    throw new MeshError('invalid_argument', `${file} cannot be read: ${adviceOf(cause)}`, { cause });
  }
}

/** Returns the reason for which a module cannot be imported. */
function adviceOf(cause: unknown): string {
  const isUnread = cause instanceof Error && 'code' in cause && cause.code === 'ERR_UNKNOWN_FILE_EXTENSION';
  if (!isUnread) return reasonOf(cause);
  return `Node ${process.versions.node} reads no TypeScript; use Node 22.18 or newer, or compile the file`;
}

/**
 * Returns the manifests of all exported apps, agents and tools, also in lists, and of objects with a `manifest`.
 * An agent below another one is no service, and the root of an exported app is that of the app.
 */
function manifestsIn(exported: object, file: string): ServiceManifest[] {
  const values = [...new Set<unknown>(Object.values(exported).flat())];
  assertOurs(values, file);
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

/**
 * Refuses agents and tools of another copy of the library: their classes are not ours, so they would be left out.
 */
function assertOurs(values: readonly unknown[], file: string): void {
  const ours = [BaseAgent, BaseTool];
  const isForeign = (value: unknown) =>
    !ours.some((each) => value instanceof each) &&
    classesOf(value).some((name) => ours.some((each) => each.name === name));
  if (![...values, ...values.map(rootOf)].some(isForeign)) return;
  throw new MeshError(
    'invalid_argument',
    `${file} uses another copy of @agentmesh/agent than this command; run the command that is installed with it: npx agentmesh in its folder`,
  );
}

/** Returns the root agent of an app, also of one of another copy. */
function rootOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'rootAgent' in value ? value.rootAgent : undefined;
}

/** Returns the names of the classes of a value, its own class first. */
function classesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const names: string[] = [];
  for (let type = Object.getPrototypeOf(value); type !== null; type = Object.getPrototypeOf(type))
    names.push(type.constructor?.name ?? '');
  return names;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

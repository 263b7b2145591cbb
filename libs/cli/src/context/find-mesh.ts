import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { MeshError } from '@agentmesh/protocol';
import {
  gatewayKeyVariable,
  gatewayVariable,
  keysVariable,
  type MeshContext,
  readContextFile,
} from './context-file.ts';

/** The folder of a project for all that the command keeps. */
export const meshFolder = '.agentmesh';

/** The mesh that a command acts on: the environment for its configuration, and the place that named it. */
export interface FoundMesh {
  env: NodeJS.ProcessEnv;
  /** The option, the environment, the path of a context file, or the defaults. */
  source: string;
  /** True for a mesh in one process, without servers. */
  isOneProcess: boolean;
}

/** The variables that say where a mesh is, and who we are there. A context replaces all of them. */
const addressing = [
  'NATS_URL',
  'REDIS_URL',
  gatewayVariable,
  gatewayKeyVariable,
  keysVariable,
  'MESH_NATS_USER',
  'MESH_NATS_PASSWORD',
  'MESH_NATS_CREDS',
];

/**
 * Finds the mesh: by `--context`; else by `NATS_URL`, `REDIS_URL` or `MESH_GATEWAY_URL` of the environment;
 * else by `.agentmesh/context.json` of the project; else on this machine.
 *
 * @throws MeshError `not_found` for a context that does not exist; `invalid_argument` for a wrong context file
 */
export function findMesh({ env, cwd }: { env: NodeJS.ProcessEnv; cwd: string }, context?: string): FoundMesh {
  if (context !== undefined) {
    const file = contextFile(context, cwd);
    return inContext(env, readContextFile(file) ?? { variables: {} }, file);
  }
  if (env.NATS_URL || env.REDIS_URL || env[gatewayVariable])
    return { env, source: 'the environment', isOneProcess: false };
  const project = findProject(cwd);
  const file = project === undefined ? undefined : join(project, meshFolder, 'context.json');
  const found = file === undefined ? undefined : readContextFile(file);
  if (file === undefined || !found) return { env, source: 'the defaults', isOneProcess: false };
  return inContext(env, found, file);
}

/** Finds the folder of the project: the nearest one with a `.agentmesh` folder, from `cwd` upwards. */
export function findProject(cwd: string): string | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, meshFolder))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

function inContext(env: NodeJS.ProcessEnv, context: MeshContext, source: string): FoundMesh {
  const { variables, isOneProcess = false } = context;
  const others = Object.entries(env).filter(([name]) => !addressing.includes(name));
  return { env: { ...Object.fromEntries(others), ...variables }, source, isOneProcess };
}

function contextFile(context: string, cwd: string): string {
  if (/[/\\]|\.json$/.test(context)) {
    const file = resolve(cwd, context);
    if (existsSync(file)) return file;
    throw new MeshError('not_found', `there is no context file ${file}`);
  }
  const folders = [findProject(cwd), homedir()].flatMap((folder) => folder ?? []);
  const files = folders.map((folder) => join(folder, meshFolder, 'contexts', `${context}.json`));
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new MeshError('not_found', `there is no context ${context}; write it to ${files.join(' or ')}`);
}

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import type { ServiceManifest } from '@agentmesh/mesh';
import { toolNameSchema } from '@agentmesh/protocol';
import { ownProgram } from './own-program.ts';
import type { ProjectService } from './project.ts';

/** A service of the project with the facts of its definition. */
export interface DefinedService extends ProjectService {
  manifest: ServiceManifest;
}

/** The exit code of Node for an `await` at the top of a module that never ends. */
const unsettled = 13;

/** The definitions of a project, and the problems of those that cannot be read. */
export interface Definitions {
  services: DefinedService[];
  problems: string[];
}

type Result = { manifests: ServiceManifest[] } | { problem: string };

interface Place {
  /** The folder of the project. */
  root: string;
  env: NodeJS.ProcessEnv;
  /** The longest time in which one definition is loaded, in ms; default 15 s. */
  limitMs?: number;
}

/**
 * Reads the definitions of services in a process of its own, with the environment that they need while they
 * load. A definition that ends the process, or does not end, is a problem of its own: another process reads
 * the rest.
 */
export async function readManifests(services: readonly ProjectService[], place: Place): Promise<Definitions> {
  if (services.length === 0) return { services: [], problems: [] };
  const loaded = services.filter(({ isPython }) => !isPython);
  const results = await load(loaded, place);
  const read = services.map((service) =>
    service.isPython ? pythonService(service) : readOne(service, results[loaded.indexOf(service)]),
  );
  const problems = read.flatMap((each) => (typeof each === 'string' ? each : []));
  const defined = read.filter((each) => typeof each !== 'string');
  const twice = defined.flatMap((each, at) => {
    const other = defined.slice(0, at).find(({ manifest: { kind, name } }) => isNamed(each, kind, name));
    return other
      ? [
          `${each.kind} ${each.manifest.name} is defined twice, in ${other.folder} and in ${each.folder}; rename one`,
        ]
      : [];
  });
  const first = defined.filter(
    (each, at) => !defined.slice(0, at).some(({ manifest: { kind, name } }) => isNamed(each, kind, name)),
  );
  return { services: first, problems: [...problems, ...twice] };
}

function isNamed({ manifest }: DefinedService, kind: string, name: string): boolean {
  return manifest.kind === kind && manifest.name === name;
}

async function load(services: readonly ProjectService[], place: Place): Promise<Result[]> {
  const results: Result[] = [];
  while (results.length < services.length) {
    const files = services.slice(results.length).map(({ definition }) => definition);
    const { read, why } = await loadSome(files, place);
    const culprit = files[read.length];
    results.push(...read, ...(culprit ? [{ problem: `${culprit} cannot be read: ${why}` }] : []));
  }
  return results;
}

/** Loads files until all are read, or the process ends. Returns what was read before, and why it ended. */
async function loadSome(files: readonly string[], { root, env, limitMs = 15_000 }: Place) {
  const options = { cwd: root, env, execArgv: [], silent: true };
  const child = fork(ownProgram('manifest-process'), files, options);
  const read: Result[] = [];
  let stderr = '';
  child.stderr?.on('data', (part) => {
    stderr += part;
  });
  child.stdout?.resume();
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  child.on('message', (result: Result) => {
    read.push(result);
    timer.refresh();
  });
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  return {
    read,
    why: child.killed ? `it is not loaded after ${limitMs / 1000} s` : wordsOf(code ?? signal, stderr),
  };
}

function wordsOf(end: number | string, stderr: string): string {
  if (end === unsettled) return 'it awaits a promise that nothing settles';
  const lastLines = stderr.trim().split('\n').slice(-5);
  return [`the process ends with ${end} while it is loaded`, ...lastLines].join('\n').trim();
}

/** Returns the tool in Python that a folder names. */
function pythonService(service: ProjectService): DefinedService | string {
  const name = basename(service.folder);
  const { success } = toolNameSchema.safeParse(name);
  if (!success) return `${service.folder} is no name of a tool; use letters, digits and _`;
  return { ...service, manifest: { kind: 'tool', name, transfers: [], asks: [], calls: [] } };
}

function readOne(service: ProjectService, result: Result | undefined): DefinedService | string {
  if (!result || 'problem' in result) return result?.problem ?? `${service.definition} gives no answer`;
  const manifests = result.manifests.filter(({ kind }) => kind === service.kind);
  const [manifest] = manifests;
  if (!manifest) return `${service.definition} exports no ${service.kind}`;
  if (manifests.length > 1) {
    const names = manifests.map(({ name }) => name).join(' and ');
    return `${service.definition} exports ${names}; give each ${service.kind} a folder of its own`;
  }
  return { ...service, manifest };
}

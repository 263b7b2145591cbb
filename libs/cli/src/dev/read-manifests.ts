import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import type { ServiceManifest } from '@agentmesh/mesh';
import { MeshError, toolNameSchema } from '@agentmesh/protocol';
import { ownProgram } from './own-program.ts';
import type { ProjectService } from './project.ts';

/** A service of the project with the facts of its definition. */
export interface DefinedService extends ProjectService {
  manifest: ServiceManifest;
}

/** The definitions of a project, and the problems of those that cannot be read. */
export interface Definitions {
  services: DefinedService[];
  problems: string[];
}

type Result = { file: string } & ({ manifests: ServiceManifest[] } | { problem: string });

/** The longest time in which all definitions are loaded, in ms. */
const loadMs = 60_000;

/**
 * Reads the definitions of services in a process of its own, with the environment that they need while they
 * load.
 *
 * @throws MeshError `failed_precondition` when the process ends without an answer, as by `process.exit`
 */
export async function readManifests(
  services: readonly ProjectService[],
  { root, env }: { root: string; env: NodeJS.ProcessEnv },
): Promise<Definitions> {
  if (services.length === 0) return { services: [], problems: [] };
  const loaded = services.filter(({ isPython }) => !isPython);
  const results = loaded.length === 0 ? [] : await load(loaded, { root, env });
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

async function load(
  services: readonly ProjectService[],
  { root, env }: { root: string; env: NodeJS.ProcessEnv },
): Promise<Result[]> {
  const program = ownProgram('manifest-process');
  const args = [program, ...services.map(({ definition }) => definition)];
  const options = { cwd: root, env, timeout: loadMs, maxBuffer: 64 * 1024 * 1024 };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, options);
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\n') + 1));
  } catch (cause) {
    const { stderr = '', message } = cause as { stderr?: string; message: string };
    const why = stderr.trim().split('\n').slice(-5).join('\n') || message;
    throw new MeshError('failed_precondition', `the definitions of the project cannot be read: ${why}`, {
      cause,
    });
  }
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

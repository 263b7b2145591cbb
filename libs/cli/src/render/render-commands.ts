import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { MeshError } from '@agentmesh/protocol';
import { serviceConfig } from '@agentmesh/service';
import { z } from 'zod';
import type { Command, Commands, Surroundings } from '../command/command.ts';
import { findServices, type ProjectService } from '../dev/project.ts';
import { readManifests } from '../dev/read-manifests.ts';
import { deployedServices } from './deployed-service.ts';
import {
  generatedMark,
  type Rendered,
  type RenderedMesh,
  renderCompose,
  renderHelm,
  renderNats,
  renderRedis,
} from './project-files.ts';

/** The folder of the project that the files go to. Files in it name it. */
const folder = 'deploy';

/** The commands that write the files of a deployment from the definitions of a project, by their words. */
export const renderCommands: Commands = {
  'render compose': renderCommand(
    'writes a Compose file with NATS, Redis and all services of the project, and all that it needs',
    renderCompose,
  ),
  'render helm': renderCommand(
    'writes the values of the Helm chart for all services of the project, and the configuration of the servers',
    renderHelm,
  ),
  'render nats': renderCommand(
    'writes the configuration of nats-server with the rights of all services',
    renderNats,
  ),
  'render redis': renderCommand(
    'writes the users of Redis with the rights of all services, and a script that starts Redis',
    renderRedis,
  ),
};

function renderCommand(meaning: string, render: (mesh: RenderedMesh) => Rendered): Command {
  return {
    usage: '',
    meaning,
    more: `Run it in the folder of the project. The files go to the folder ${folder}, in the place of those of an earlier run. They hold no passwords.`,
    async run(_args, around) {
      const { files, next } = render(await readMesh(around));
      await writeFiles(join(around.cwd, folder), files);
      const paths = Object.keys(files).map((file) => `${folder}/${file}`);
      return {
        lines: [...paths.map((path) => `wrote ${path}`), 'now:', ...next.map((step) => `  ${step}`)],
        json: { files: paths, next },
      };
    },
  };
}

/** Reads the project of the folder. @throws MeshError that names what cannot be rendered */
async function readMesh({ cwd, env }: Surroundings): Promise<RenderedMesh> {
  const found = findServices(cwd);
  assertSupported(cwd, found);
  const { services, problems } = await readManifests(found, { root: cwd, env });
  if (problems.length > 0) throw new MeshError('failed_precondition', problems.join('\n'));
  const project = nameOfProject(cwd);
  const programs = services.map(({ manifest, main, isPython = false }) => ({
    manifest,
    program: relative(cwd, main),
    isPython,
  }));
  return { project, namespace: namespaceOf(env), services: deployedServices(programs, project) };
}

/** Refuses a project without services, and services in languages whose programs the images cannot run. */
function assertSupported(root: string, found: readonly ProjectService[]): void {
  if (found.length === 0)
    throw new MeshError(
      'failed_precondition',
      `${root} has no agents and no tools; add one with agentmesh add agent <name>`,
    );
  const known = found.map((each) => each.folder);
  for (const parent of ['agents', 'tools']) {
    if (!existsSync(join(root, parent))) continue;
    for (const entry of readdirSync(join(root, parent), { withFileTypes: true })) {
      const path = `${parent}/${entry.name}`;
      if (!entry.isDirectory() || known.includes(path)) continue;
      const foreign = readdirSync(join(root, path)).find((file) => /\.(?:py|go|rs|java|rb|cs)$/.test(file));
      if (foreign === undefined) continue;
      throw new MeshError(
        'failed_precondition',
        `${path}/${foreign} cannot be rendered: the images run TypeScript, JavaScript, and tools in Python whose file is tool.py; move ${path} out of ${parent} and deploy it by its own means`,
      );
    }
  }
}

function nameOfProject(root: string): string {
  const manifest = z
    .object({ name: z.string().optional() })
    .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const name = manifest.name?.replace(/^@[^/]+\//, '') ?? '';
  if (/^[a-z0-9][a-z0-9_-]*$/.test(name)) return name;
  throw new MeshError(
    'failed_precondition',
    `the name ${JSON.stringify(manifest.name)} of package.json cannot be the name of an image; use small letters, digits, - and _`,
  );
}

function namespaceOf(env: NodeJS.ProcessEnv): string {
  const result = serviceConfig.namespace.read(env.MESH_NAMESPACE);
  if ('value' in result) return result.value;
  throw new MeshError('invalid_argument', `MESH_NAMESPACE ${result.problem}`);
}

/** Writes files. @throws MeshError `failed_precondition` before anything is written, for a file that a person wrote */
async function writeFiles(root: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) assertOurs(join(root, path), text);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
    if (path.endsWith('.sh')) await chmod(join(root, path), 0o755);
  }
}

/** A file that may hold no comment is known by its first line. */
function assertOurs(file: string, text: string): void {
  if (!existsSync(file)) return;
  const there = readFileSync(file, 'utf8');
  const [first = ''] = text.split('\n');
  if (there.startsWith(generatedMark) || there.split('\n')[0] === first) return;
  throw new MeshError(
    'failed_precondition',
    `${file} was not written by agentmesh render; move it away, so that it is not lost`,
  );
}

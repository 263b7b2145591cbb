import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { MeshError } from '@agentmesh/protocol';

/** A service of a user's project: the file with its definition, and its program. */
export interface ProjectService {
  kind: 'agent' | 'tool';
  /** The folder from the root of the project: `agents/helper`. */
  folder: string;
  /** The path of the file that exports the agent, the app or the tool. */
  definition: string;
  /** The path of the program that serves it. */
  main: string;
  /** True for a tool in Python, whose name is that of its folder. */
  isPython?: boolean;
}

/** The folders of definitions, and the names of the files, without the extension. */
const places = [
  { kind: 'agent', parent: 'agents', file: 'agent' },
  { kind: 'tool', parent: 'tools', file: 'tool' },
] as const;

const extensions = ['.ts', '.js', '.mjs'];

/**
 * Finds the services of a project: `agents/<folder>/agent.ts` and `tools/<folder>/tool.ts`, each with a
 * `main.ts` beside it that serves it. Files may also end in `.js` or `.mjs`. A tool in Python is one file,
 * `tools/<folder>/tool.py`.
 *
 * @throws MeshError `failed_precondition` for a folder that is no project, and for a definition without a
 * `main.ts`
 */
export function findServices(root: string): ProjectService[] {
  if (!existsSync(join(root, 'package.json'))) {
    throw new MeshError(
      'failed_precondition',
      `${resolve(root)} has no package.json; make a project with agentmesh init <dir>, and run the command in its folder`,
    );
  }
  return places.flatMap(({ kind, parent, file }) => {
    const folders = foldersIn(join(root, parent)).map((name) => `${parent}/${name}`);
    return folders.flatMap((folder) => {
      const definition = firstFile(join(root, folder), file);
      if (definition === undefined) return kind === 'tool' ? pythonTool(root, folder) : [];
      const main = firstFile(join(root, folder), 'main');
      if (main === undefined) throw noMain(kind, folder, file);
      return [{ kind, folder, definition, main }];
    });
  });
}

/** Returns the nearest folder above another one that has services. */
export function projectAbove(folder: string): string | undefined {
  const above = dirname(folder);
  if (above === folder) return undefined;
  const isProject = existsSync(join(above, 'package.json')) && findServices(above).length > 0;
  return isProject ? above : projectAbove(above);
}

/**
 * Tells whether changed files may add, remove or mend services: `package.json`, and files in the folders of
 * services.
 */
export function changesServices(root: string, files: ReadonlySet<string>): boolean {
  const folders = places.map(({ parent }) => join(root, parent, sep));
  const isInside = (file: string) => folders.some((folder) => `${file}${sep}`.startsWith(folder));
  return files.has(join(root, 'package.json')) || [...files].some(isInside);
}

/**
 * Checks that a folder without services is a project that may get some: a package of agentmesh is among its
 * dependencies.
 *
 * @throws MeshError `failed_precondition` for a folder of something else
 */
export function assertProject(root: string, services: readonly ProjectService[]): void {
  if (services.length > 0) return;
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys({ ...dependencies, ...devDependencies });
  if (names.some((name) => /^@?agentmesh(?:\/|$)/.test(name))) return;
  throw new MeshError(
    'failed_precondition',
    `${resolve(root)} has no agents, no tools, and no package of agentmesh in its package.json; make a project with agentmesh init <dir>, and run the command in its folder`,
  );
}

/**
 * Checks that this Node runs the programs of services.
 *
 * @throws MeshError `failed_precondition` for TypeScript on a Node that does not run it
 */
export function assertRunnable(services: readonly ProjectService[]): void {
  if (process.features.typescript) return;
  const typed = services.find(({ main }) => main.endsWith('.ts'));
  if (!typed) return;
  throw new MeshError(
    'failed_precondition',
    `${typed.folder} is TypeScript, which Node ${process.versions.node} does not run; use Node 22.18 or newer`,
  );
}

function pythonTool(root: string, folder: string): ProjectService[] {
  const file = join(root, folder, 'tool.py');
  if (!existsSync(file)) return [];
  return [{ kind: 'tool', folder, definition: file, main: file, isPython: true }];
}

function noMain(kind: 'agent' | 'tool', folder: string, file: string): MeshError {
  const serve = kind === 'agent' ? 'runAgentService(agent)' : 'runToolService(tool)';
  return new MeshError(
    'failed_precondition',
    `${folder} has ${file}.ts and no main.ts; write one that calls ${serve}, as agentmesh add ${kind} does`,
  );
}

function foldersIn(parent: string): string[] {
  if (!existsSync(parent)) return [];
  const entries = readdirSync(parent, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .map(({ name }) => name)
    .sort();
}

function firstFile(folder: string, name: string): string | undefined {
  return extensions.map((extension) => join(folder, `${name}${extension}`)).find((file) => existsSync(file));
}

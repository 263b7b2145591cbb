import { existsSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { MeshError } from '@agentmesh/protocol';
import type { CommandOption, Commands } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { findServices, projectAbove } from '../dev/project.ts';
import { readManifests } from '../dev/read-manifests.ts';
import { makeFolder } from '../local/make-folder.ts';
import { ownPackages } from './own-packages.ts';
import { baseFiles, exampleFiles, type ProjectFiles } from './project-files.ts';
import { type AddedKind, serviceFiles } from './service-files.ts';

/** The commands that write files of a project, by their words. */
export const projectCommands: Commands = {
  init: {
    usage: '<dir>',
    meaning: 'makes a project with an agent, a tool, a scripted model and a test in a new folder',
    options: [{ flags: '--no-example', meaning: 'leaves out the agent, the tool, the script and the test' }],
    async run([dir = ''], { cwd }, options) {
      const root = resolve(cwd, dir);
      const name = basename(root).toLowerCase();
      if (!/^[a-z0-9][a-z0-9._-]*$/.test(name))
        throw new Misuse(
          `${JSON.stringify(name)} cannot be the name of a package; use letters, digits, - and _`,
        );
      if (existsSync(root) && (await readdir(root)).some((file) => file !== '.git'))
        throw new MeshError('failed_precondition', `${root} is not empty; name a new folder`);
      const outer = projectAbove(root);
      if (outer !== undefined)
        throw new MeshError(
          'failed_precondition',
          `${root} is inside the project ${outer}; name a folder outside it, or add to the project with agentmesh add`,
        );
      const files = {
        ...baseFiles(name, ownPackages()),
        ...(options.isOff('example') ? {} : exampleFiles()),
      };
      await writeFiles(root, files);
      const steps = [`cd ${relative(cwd, root) || '.'}`, 'npm install', 'npx agentmesh dev'];
      return {
        lines: [`the project ${name} is in ${root}; now:`, ...steps.map((step) => `  ${step}`)],
        json: { root, files: Object.keys(files) },
      };
    },
  },
  'add agent': addCommand('agent', 'adds an agent as a service of its own, below agents'),
  'add tool': addCommand('tool', 'adds a tool as a service of its own, below tools', [
    { flags: '--python', meaning: 'writes the tool in Python, with the standard library alone' },
  ]),
  'add workflow': addCommand('workflow', 'adds an agent that runs other agents in order, below agents'),
};

function addCommand(kind: AddedKind, meaning: string, options: CommandOption[] = []): Commands[string] {
  return {
    usage: '<name>',
    meaning,
    more: 'Run it in the folder of the project. A running agentmesh dev starts the new service at once.',
    options,
    async run([name = ''], { cwd, env, print }, given) {
      assertIdentifier(name);
      const services = findServices(cwd);
      const files = serviceFiles(given.flag('python') ? 'python tool' : kind, name);
      const taken = Object.keys(files).find((file) => existsSync(join(cwd, dirname(file))));
      if (taken !== undefined) throw alreadyThere(dirname(taken));
      const { services: defined, problems } = await readManifests(services, { root: cwd, env });
      for (const problem of problems) print(problem);
      const other = defined.find(({ manifest }) => manifest.name === name);
      if (other) throw alreadyThere(`${other.kind} ${name} in ${other.folder}`);
      await writeFiles(cwd, files);
      const paths = Object.keys(files);
      return { lines: paths.map((path) => `wrote ${path}`), json: { files: paths } };
    },
  };
}

/** Names that mean something else in a conversation, or in a subject. */
const reserved = ['user', 'model', 'system', 'gateway', 'client', 'provision', 'operator'];

function assertIdentifier(name: string): void {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(name))
    throw new Misuse(
      `${JSON.stringify(name)} cannot be a name: begin with a small letter, then use small letters, digits and _, 64 at most`,
    );
  if (reserved.includes(name)) throw new Misuse(`${name} is a name of the mesh itself; choose another one`);
}

function alreadyThere(what: string): MeshError {
  return new MeshError('already_exists', `there is ${what} already; choose another name`);
}

/** Writes files that are not there yet. A failure, such as a full disk, leaves none of them behind. */
async function writeFiles(root: string, files: ProjectFiles): Promise<void> {
  const made: string[] = [];
  try {
    for (const [path, text] of Object.entries(files)) {
      const first = await makeFolder(join(root, dirname(path)));
      if (first !== undefined) made.push(first);
      const file = join(root, path);
      await using written = await open(file, 'wx');
      made.push(file);
      await written.writeFile(text);
    }
  } catch (error) {
    // The error that people must see is the first one.
    for (const each of made.reverse()) await rm(each, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

import { existsSync, mkdtempSync } from 'node:fs';
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { latestFunctionResponses, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { asJavaScript, createProject, filesOfReadme, type Project } from './project.fixture.ts';
import { release } from './release.fixture.ts';
import { startMesh, startServers } from './user-mesh.fixture.ts';

// Installs the published packages in an empty folder elsewhere.
const root = join(import.meta.dirname, '..', '..');
const minutes = 60_000;
/** The oldest Node and the oldest peers that the packages name. */
const oldestNode = '22.12.0';
const oldestPeers = ['zod@4.1.0', '@google/genai@2.9.0'];
const nodes = { 'Node 22.12': '', 'Node 24': process.execPath };

await using starting = new AsyncDisposableStack();
const place = mkdtempSync(join(tmpdir(), 'agentmesh-packages-'));
starting.defer(() => rm(place, { recursive: true, force: true }));
const owners = starting.move();
let project: Project;
let oldProject: Project;
const published = inject('published');
const registry = inject('registry');

beforeAll(async () => {
  const oldNode = await createProject(join(place, 'node'), registry);
  oldProject = await createProject(join(place, 'old-shop'), registry);
  project = await createProject(join(place, 'shop'), registry);
  const installed = project.install('agentmesh', '@agentmesh/client', 'zod', '@google/genai');
  const withOldPeers = oldProject.install('agentmesh', ...oldestPeers);
  await Promise.all([installed, withOldPeers, oldNode.install(`node@${oldestNode}`)]);
  nodes['Node 22.12'] = join(oldNode.folder, 'node_modules/node/bin/node');
  await project.install('--save-dev', ...(await toolsOfDevelopers()));
  const files = await filesOfReadme();
  await project.write({ ...files, ...asJavaScript(files) });
  await oldProject.write(asJavaScript(files));
  await cp(join(import.meta.dirname, 'user'), project.folder, { recursive: true });
}, 10 * minutes);
afterAll(() => owners.disposeAsync());

/** Returns what developers install beside the package, in the versions of the repository. */
async function toolsOfDevelopers(): Promise<string[]> {
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const { version: vitest } = JSON.parse(
    await readFile(join(root, 'node_modules/vitest/package.json'), 'utf8'),
  );
  return [
    `vitest@${vitest}`,
    'tsx@4',
    'openai@7',
    `@types/node@${devDependencies['@types/node']}`,
    `typescript-7@npm:typescript@${devDependencies.typescript}`,
    'typescript-5.9@npm:typescript@5.9.3',
  ];
}

/** Returns the files of all our installed packages, relative to `node_modules`. */
async function installedFiles(): Promise<string[]> {
  const modules = join(project.folder, 'node_modules');
  const ours = [
    'agentmesh',
    ...(await readdir(join(modules, '@agentmesh'))).map((name) => `@agentmesh/${name}`),
  ];
  const files = await Promise.all(
    ours.map(async (name) => {
      const entries = await readdir(join(modules, name), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(modules, join(entry.parentPath, entry.name)));
    }),
  );
  return files.flat();
}

const readInstalled = (file: string) => readFile(join(project.folder, 'node_modules', file), 'utf8');

describe('the published packages', () => {
  it('are those of the libraries, the gateway and the keeper, in one version', () => {
    const lines = published.split('\n').filter((line) => /^\S+ \d+\.\d+\.\d+: \d+ kB, \d+ files$/.test(line));
    expect(lines).toHaveLength(12);
    expect(new Set(lines.map((line) => line.split(/[ :]/)[1])).size).toBe(1);
  });

  it('hold compiled files, no tests, and no source but in the source maps', async () => {
    const files = await installedFiles();
    expect(files.length).toBeGreaterThan(1_000);
    const allowed =
      /\/(?:package\.json|README\.md|LICENSE|dist\/.*\.(?:js|d\.ts|js\.map))$|\/gateway\/console\/(?:console\.(?:js|css)|index\.html|licences\.md)$/;
    expect(files.filter((file) => !allowed.test(`/${file}`))).toEqual([]);
    expect(files.filter((file) => file.includes('gateway/console/'))).toHaveLength(4);
    expect(files.filter((file) => /\.test\.|\.fixture\.|conformance/.test(file))).toEqual([]);
    for (const file of files.filter((each) => each.endsWith('.map'))) {
      const { sources, sourcesContent } = JSON.parse(await readInstalled(file));
      expect(sourcesContent, file).toHaveLength(sources.length);
    }
  });

  it('are few modules for the process of an agent, whose errors lead to the TypeScript', async () => {
    const ofAgents = /^@agentmesh\/(?:agent|bus|mesh|protocol|service|store)\/.*\.js$/;
    const modules = (await installedFiles()).filter((file) => ofAgents.test(file));
    expect(modules.length).toBeLessThan(25);
    const program = "import { LlmAgent } from '@agentmesh/agent'; new LlmAgent({ name: 'no name' })";
    const run = project.run(process.execPath, [
      '--enable-source-maps',
      '--input-type=module',
      '--eval',
      program,
    ]);
    await expect(run).rejects.toThrow(/src\/base\/base-agent\.ts:\d+/);
  });

  it('have a licence, a README, and every file that their doors name', async () => {
    const manifests = (await installedFiles()).filter((file) => file.endsWith('/package.json'));
    expect(manifests).toHaveLength(12);
    for (const file of manifests) {
      const folder = join(project.folder, 'node_modules', file, '..');
      const { exports, bin = {} } = JSON.parse(await readInstalled(file));
      const doors = Object.values<Record<string, string>>(exports).flatMap((door) => Object.values(door));
      for (const path of ['LICENSE', 'README.md', ...doors, ...Object.values<string>(bin)])
        expect(existsSync(join(folder, path)), `${file}: ${path}`).toBe(true);
    }
  });

  it('name neither the workspace nor a folder of the machine that built them', async () => {
    for (const file of await installedFiles()) {
      const text = await readInstalled(file);
      if (file.endsWith('package.json')) expect(text, file).not.toMatch(/workspace:|catalog:/);
      expect(text.includes(root), file).toBe(false);
    }
  });

  it('share one zod and one @google/genai with the program', async () => {
    const files = await readdir(join(project.folder, 'node_modules'), { recursive: true });
    const copies = files.filter((file) =>
      /(?:^|\/)node_modules\/(?:zod|@google\/genai)$/.test(`node_modules/${file}`),
    );
    expect(copies.sort()).toEqual(['@google/genai', 'zod']);
  });

  it('have an SBOM that lists what they bring', async () => {
    const sbom = JSON.parse(await readFile(join(root, '.mesh/release/sbom.cdx.json'), 'utf8'));
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'agentmesh' } } });
    const names = sbom.components.map(({ group, name }: { group?: string; name: string }) =>
      group === undefined ? name : `${group}/${name}`,
    );
    expect(names).toEqual(expect.arrayContaining(['@agentmesh/bus', 'ioredis', 'zod', '@nats-io/nats-core']));
    expect(names).not.toContain('vitest');
    expect(JSON.stringify(sbom)).not.toContain(root);
  });

  it('are not published anywhere unless the registry is named', async () => {
    await expect(release()).rejects.toThrow('name the registry');
    await expect(release('--regsitry', 'x')).rejects.toThrow("Unknown option '--regsitry'");
  });
});

describe.each(Object.keys(nodes) as (keyof typeof nodes)[])('a program of a user under %s', (name) => {
  const answer = 'It is 10:30 in Oslo.\n';
  const node = (...args: string[]) => project.run(nodes[name], args);

  it('imports the packages', async () => {
    expect(await node('try.mjs')).toBe(answer);
  });

  it('loads the packages by require', async () => {
    expect(await node('--disable-warning=ExperimentalWarning', 'program.cjs')).toBe(answer);
  });

  it('has the client, which needs no other package', async () => {
    const program = "import { MeshClient } from '@agentmesh/client'; new MeshClient({ url: 'gateway' })";
    await expect(node('--input-type=module', '--eval', program)).rejects.toThrow('url must be the address');
    const manifest = JSON.parse(await readInstalled('@agentmesh/client/package.json'));
    expect([manifest.dependencies ?? {}, manifest.peerDependencies ?? {}]).toEqual([{}, {}]);
  });

  it('is TypeScript that Node runs as it is', async () => {
    // Node 22 does so without an option from 22.18 on.
    const options = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
    expect(await node(...options, 'try.ts')).toBe(answer);
  });

  it('runs by tsx', async () => {
    expect(await node('--import=tsx', 'try.ts')).toBe(answer);
  });

  it('is tested by Vitest', async () => {
    const output = await node('node_modules/vitest/vitest.mjs', 'run', '--reporter=dot', 'agent.test.ts');
    expect(output).toMatch(/Tests +1 passed/);
  });

  it('has the command', async () => {
    expect(await node('node_modules/.bin/agentmesh', '--help')).toContain('dead-letters');
  });
});

it('the packages work with the oldest peers that they name', async () => {
  for (const file of await readdir(join(oldProject.folder, 'node_modules'), { recursive: true }))
    expect(`node_modules/${file}`).not.toMatch(/.node_modules\/(?:zod|@google\/genai)$/);
  expect(await oldProject.run(nodes['Node 22.12'], ['try.mjs'])).toBe('It is 10:30 in Oslo.\n');
});

it.each([
  ['Node 22.12', '.mjs'],
  ['Node 24', '.ts'],
] as const)(
  'a mesh of a user runs under %s in processes with the rights of their definitions',
  async (name, extension) => {
    const node = nodes[name];
    await using model = await startScriptedGemini({
      script(request) {
        const [result] = latestFunctionResponses(request);
        if (result) return { text: `It is ${result.response?.time} in Oslo.` };
        return { calls: [{ name: 'get_time', args: { city: 'Oslo' } }] };
      },
    });
    await using servers = await startServers(project, node, `definitions${extension}`);
    await using mesh = await startMesh(project, servers, { node, extension, modelUrl: model.url });
    expect(await mesh.ask('desk_app', 'What is the time in Oslo?')).toEqual(['It is 10:30 in Oslo.']);
    expect(await mesh.stop()).toEqual([0, 0, 0]);
  },
  3 * minutes,
);

it('the command says that Node 22.12 reads no TypeScript', async () => {
  const command = ['node_modules/.bin/agentmesh', 'rights', 'list', 'definitions.ts'];
  await expect(project.run(nodes['Node 22.12'], command)).rejects.toThrow(
    'Node 22.12.0 reads no TypeScript; use Node 22.18 or newer, or compile the file',
  );
});

it.each(['5.9', '7'])(
  'TypeScript %s accepts the declarations in its strictest form',
  async (version) => {
    const compiler = `node_modules/typescript-${version}/bin/tsc`;
    expect(await project.run(process.execPath, [compiler, '--pretty', 'false'])).toBe('');
  },
  3 * minutes,
);

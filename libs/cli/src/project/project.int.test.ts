import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { glob, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { isLongTier } from '@agentmesh/testing/tiers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';
import { makeProject, type Project } from '../project.fixture.ts';
import { packageVersions } from './project-files.ts';

const workspace = join(import.meta.dirname, '../../../..');

/** Runs a program of the project's packages; the error has its output. */
async function run(root: string, ...words: string[]): Promise<string> {
  try {
    const env = { PATH: process.env.PATH };
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root, env });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${words.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

describe('a new project', () => {
  let project: Project;
  let place: { env: NodeJS.ProcessEnv; cwd: string };
  beforeAll(async () => {
    project = await makeProject();
    place = { env: { PATH: process.env.PATH }, cwd: project.root };
  });
  afterAll(() => project[Symbol.asyncDispose]());

  it.runIf(isLongTier())('passes its own tests', async () => {
    expect(await run(project.root, 'node_modules/vitest/vitest.mjs', 'run')).toMatch(/1 passed/);
  });

  it.runIf(isLongTier())('takes agents, tools and workflows, and type-checks with all of them', async () => {
    expect(await linesOf(place, ['add', 'agent', 'trip_planner'])).toEqual([
      'wrote agents/trip_planner/agent.ts',
      'wrote agents/trip_planner/main.ts',
    ]);
    await linesOf(place, ['add', 'tool', 'book_flight']);
    expect(await jsonOf(place, ['add', 'workflow', 'review'])).toEqual([
      { files: ['agents/review/agent.ts', 'agents/review/main.ts'] },
    ]);
    expect(await linesOf(place, ['add', 'tool', 'count_words', '--python'])).toEqual(
      ['tool', 'serve_tool', 'mesh_client', 'signature'].map((name) => `wrote tools/count_words/${name}.py`),
    );
    await run(project.root, 'node_modules/typescript/bin/tsc', '--noEmit');
    await run(project.root, 'node_modules/@biomejs/biome/bin/biome', 'lint', '--error-on-warnings');
  });

  it.runIf(isLongTier())('has lint that finds an import that nothing uses', async () => {
    const file = join(project.root, 'tools/get_time/forgotten.ts');
    await writeFile(file, "import { readFile } from 'node:fs/promises';\n");
    onTestFinished(() => rm(file));
    const linted = run(project.root, 'node_modules/@biomejs/biome/bin/biome', 'lint');
    await expect(linted).rejects.toThrow('noUnusedImports');
  });

  it.each([
    ['agent', 'helper', 'already_exists', 'agents/helper already'],
    ['tool', 'get_time', 'already_exists', 'tools/get_time already'],
    ['tool', 'helper', 'already_exists', 'agent helper in agents/helper'],
    ['workflow', 'Bad-Name', 'invalid_argument', '"Bad-Name" cannot be a name'],
    ['agent', 'user', 'invalid_argument', 'user is a name of the mesh itself'],
  ])('refuses to add %s %s', async (kind, name, code, message) => {
    await expect(linesOf(place, ['add', kind, name])).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it('is not made inside another project', async () => {
    const inside = linesOf({ ...place, cwd: join(project.root, 'tools') }, ['init', 'nested/shop']);
    await expect(inside).rejects.toThrow(
      `tools/nested/shop is inside the project ${project.root}; name a folder outside it, or add`,
    );
  });

  it('is not made in a folder with files, and nothing is added to a folder that is no project', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agentmesh-empty-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const elsewhere = { env: {}, cwd: folder };
    await expect(linesOf(place, ['init', '.'])).rejects.toThrow('is not empty; name a new folder');
    await expect(linesOf(elsewhere, ['add', 'agent', 'one'])).rejects.toThrow('has no package.json');
    expect(await linesOf(elsewhere, ['init', 'bare', '--no-example'])).toContain('  cd bare');
    expect((await readdir(join(folder, 'bare'))).sort()).toEqual(
      ['.gitignore', 'README.md', 'biome.json', 'package.json', 'tsconfig.json'].sort(),
    );
  });

  /** Runs a command that may write no file of more than some blocks of 512 bytes, as on a disk that is full. */
  function onFullDisk(cwd: string, blocks: number, ...words: string[]) {
    const script = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const args = ['-c', script, process.execPath, join(import.meta.dirname, '../main.ts'), ...words];
    return promisify(execFile)('sh', args, { cwd, env: { PATH: process.env.PATH }, timeout: 60_000 });
  }

  const isPackages = (path: string) => path.split(sep).at(-1) === 'node_modules';

  it('leaves nothing behind when a file cannot be written', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agentmesh-full-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, 'kept/.git'), { recursive: true });
    for (const [dir, left] of [
      ['deep/below/shop', ['kept']],
      ['kept', ['kept']],
    ] as const) {
      // Some files are written, and one is too large.
      await expect(onFullDisk(folder, 2, 'init', dir)).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^EFBIG: [^\n]*\n$/),
      });
      expect(await readdir(folder)).toEqual(left);
    }
    expect(await readdir(join(folder, 'kept'))).toEqual(['.git']);
    // The packages are tens of thousands of files.
    const filesNow = async () =>
      (await Array.fromAsync(glob('**', { cwd: project.root, exclude: isPackages }))).sort();
    const before = await filesNow();
    expect(before).toContain('package.json');
    for (const [blocks, ...words] of [
      [0, 'agent', 'half'],
      [2, 'tool', 'half', '--python'],
    ] as const)
      await expect(onFullDisk(project.root, blocks, 'add', ...words)).rejects.toMatchObject({ code: 1 });
    expect(await filesNow()).toEqual(before);
  });

  it.each([[['init', '/proc/agentmesh/shop']], [['accounts', 'init', '/proc/agentmesh']]])(
    'ends at once in a place that takes no files: %j',
    async (words) => {
      await expect(linesOf(place, words)).rejects.toMatchObject({
        code: 'failed_precondition',
        message: expect.stringMatching(/^the folder \/proc\/agentmesh\S* cannot be made: .*; name a place/),
      });
    },
    5_000,
  );

  it('has the versions of packages with which this repository is tested', async () => {
    const catalog = await readFile(join(workspace, 'pnpm-workspace.yaml'), 'utf8');
    const root = JSON.parse(readFileSync(join(workspace, 'package.json'), 'utf8'));
    const versions = { ...packageVersions.dependencies, ...packageVersions.devDependencies };
    for (const [name, version] of Object.entries(versions)) {
      const pinned = root.devDependencies[name];
      const [, inCatalog] = new RegExp(`^  "?${name}"?: (.+)$`, 'm').exec(catalog) ?? [];
      expect(version, name).toBe(pinned === 'catalog:' ? inCatalog : pinned);
    }
  });
});

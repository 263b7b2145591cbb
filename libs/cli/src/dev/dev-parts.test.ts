import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDevLog, type DevLogOptions } from './dev-log.ts';
import { chooseDevModel, modelVariables } from './dev-model.ts';
import { readLevel } from './dev-options.ts';
import { importedFiles } from './imported-files.ts';
import { findPython } from './own-program.ts';
import { assertProject, assertRunnable, findServices } from './project.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'agentmesh-dev-'));
  onTestFinished(() => rm(root, { recursive: true }));
});

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

it('says what to do without python3, which runs tools in Python', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('PATH', root);
  expect(findPython).toThrow('python3 is not found, which runs the tools in Python: install it');
});

describe('the services of a project', () => {
  it('may be none so far, where a package of agentmesh is installed', async () => {
    const assertNone = () => assertProject(root, findServices(root));
    await write({ 'package.json': '{"dependencies": {"express": "5.0.0"}}' });
    expect(assertNone).toThrow('has no agents, no tools, and no package of agentmesh in its package.json');
    for (const name of ['agentmesh', '@agentmesh/cli']) {
      await write({ 'package.json': `{"devDependencies": {"${name}": "0.1.0"}}` });
      expect(assertNone).not.toThrow();
    }
  });

  it('are found by their files', async () => {
    await write({
      'package.json': '{}',
      'agents/one/agent.ts': '',
      'agents/one/main.ts': '',
      'agents/notes/readme.md': '',
      'tools/two/tool.js': '',
      'tools/two/main.js': '',
      'tools/zwei/tool.py': '',
      'tools/zwei/parts.py': '',
    });
    expect(findServices(root).map(({ kind, folder }) => [kind, folder])).toEqual([
      ['agent', 'agents/one'],
      ['tool', 'tools/two'],
      ['tool', 'tools/zwei'],
    ]);
    const python = findServices(root).at(-1);
    expect(python?.isPython).toBe(true);
    expect([...importedFiles(python?.main ?? '')].sort()).toEqual(
      ['parts.py', 'tool.py'].map((name) => join(root, 'tools/zwei', name)),
    );
    const typescript = vi.spyOn(process.features, 'typescript', 'get');
    onTestFinished(() => typescript.mockRestore());
    typescript.mockReturnValue(false);
    expect(() => assertRunnable(findServices(root))).toThrow('agents/one is TypeScript, which Node');
    await write({ 'tools/three/tool.ts': '' });
    expect(() => findServices(root)).toThrow('tools/three has tool.ts and no main.ts; write one that calls');
  });

  it('depend on the files that they import, directly or through others', async () => {
    await write({
      'agents/one/main.ts': "import { one } from './agent.ts';",
      'agents/one/agent.ts': "import '../../shared/prompt.ts';\nimport { z } from 'zod';",
      'shared/prompt.ts': "export * from './words.ts';\nconst late = await import('./late.ts');",
      'shared/words.ts': "import '../agents/one/agent.ts';",
      'shared/other.ts': '',
    });
    const files = [...importedFiles(join(root, 'agents/one/main.ts'))].map((file) =>
      file.slice(root.length + 1),
    );
    expect(files.sort()).toEqual([
      'agents/one/agent.ts',
      'agents/one/main.ts',
      'shared/late.ts',
      'shared/prompt.ts',
      'shared/words.ts',
    ]);
  });
});

describe('the models of a dev loop', () => {
  const choose = (env: NodeJS.ProcessEnv, choice: { model?: string; modelUrl?: string } = {}) =>
    chooseDevModel({ model: undefined, modelUrl: undefined, ...choice }, { root, env });

  it('are those of the agents with a key, else the script of the project', async () => {
    expect(choose({})).toMatchObject({ kind: 'own', notice: expect.stringContaining('GEMINI_API_KEY') });
    await write({ 'model.script.ts': '' });
    const scripted = { kind: 'scripted', file: join(root, 'model.script.ts') };
    expect(choose({})).toEqual(scripted);
    expect(choose({ GEMINI_API_KEY: 'k' })).toEqual({ kind: 'own' });
    expect(choose({ GEMINI_API_KEY: 'k' }, { model: 'scripted' })).toEqual(scripted);
    expect(choose({ GEMINI_API_KEY: 'k' }, { modelUrl: 'http://x' })).toEqual({
      kind: 'url',
      url: 'http://x',
    });
  });

  it('get no real key when a script answers', () => {
    expect(modelVariables({ kind: 'scripted', file: 'f' }, 'http://s', { GEMINI_API_KEY: 'real' })).toEqual({
      MESH_MODEL: 'scripted',
      GOOGLE_GEMINI_BASE_URL: 'http://s',
      GEMINI_API_KEY: 'scripted',
    });
    expect(modelVariables({ kind: 'own' }, undefined, {})).toEqual({});
    const url = { kind: 'url', url: 'http://u' } as const;
    const address = { GOOGLE_GEMINI_BASE_URL: 'http://u' };
    expect(modelVariables(url, undefined, { GEMINI_API_KEY: 'real' })).toEqual(address);
    expect(modelVariables(url, undefined, {})).toEqual({ ...address, GEMINI_API_KEY: 'none' });
  });
});

describe('the log of a dev loop', () => {
  async function printed(options: Partial<DevLogOptions>): Promise<string[]> {
    const lines: string[] = [];
    const settings = { level: 'info', only: [], isJson: false, hasColours: false } as const;
    const folder = join(root, 'logs');
    await using log = createDevLog({
      ...settings,
      folder,
      print: ({ text }) => lines.push(text),
      ...options,
    });
    const record = (level: string, service: string) =>
      JSON.stringify({ level, time: '2026-01-01T10:11:12.345Z', service, replica: 'r', msg: 'done', n: 1 });
    log.onLine('one', record('info', 'one'));
    log.onLine('one', record('debug', 'one'));
    log.onLine('two', record('error', 'two'));
    log.onLine('two', 'plain');
    log.say('two runs');
    return lines;
  }

  it('goes on without its files when the disk is full, and says so once', async () => {
    const folder = join(root, 'logs');
    await mkdir(folder);
    for (const service of ['one', 'two']) await symlink('/dev/full', join(folder, `${service}.log`));
    const lines: string[] = [];
    await using log = createDevLog({
      ...{ level: 'info', only: [], isJson: false, hasColours: false, folder },
      print: ({ text }) => lines.push(text),
    });
    const warnings = () => lines.filter((line) => line.includes('cannot be written'));
    log.onLine('one', 'first');
    await vi.waitFor(() => expect(warnings()).toHaveLength(1));
    for (const service of ['one', 'two', 'one']) log.onLine(service, 'later');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(warnings()).toEqual([expect.stringMatching(/lines are missing there: .*ENOSPC/)]);
    expect(lines).toContain('two: later');
  });

  it('prints lines from a level on, with their service', async () => {
    expect(await printed({})).toEqual([
      '10:11:12.345 INFO  one done n=1',
      '10:11:12.345 ERROR two done n=1',
      'two: plain',
      '• two runs',
    ]);
    expect(await printed({ level: 'silent' })).toEqual(['two: plain', '• two runs']);
    expect(() => readLevel('loud')).toThrow('must be one of trace');
  });

  it('prints chosen services alone, and JSON', async () => {
    expect(await printed({ only: ['one'], level: 'debug' })).toEqual([
      '10:11:12.345 INFO  one done n=1',
      '10:11:12.345 DEBUG one done n=1',
      '• two runs',
    ]);
    expect((await printed({ isJson: true, only: ['two'] }))[0]).toMatch(/^{"level":"error".*}$/);
  });

  it('colours levels and services', async () => {
    const [first, second] = await printed({ hasColours: true });
    expect(first).toBe('10:11:12.345 INFO  \u001B[36mone\u001B[0m done n=1');
    expect(second).toContain('\u001B[31mERROR\u001B[0m');
  });

  it('keeps all lines in files', async () => {
    await printed({ level: 'silent', only: ['none'] });
    expect((await readFile(join(root, 'logs/one.log'), 'utf8')).trim().split('\n')).toHaveLength(2);
    expect(await readFile(join(root, 'logs/two.log'), 'utf8')).toContain('plain\n');
    expect(await readFile(join(root, 'logs/dev.log'), 'utf8')).toBe('two runs\n');
  });
});

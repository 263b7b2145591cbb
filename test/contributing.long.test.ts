import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Follows the steps of CONTRIBUTING.md in a copy of the repository, with the commands that the page names. An
// installation may take minutes on a slow machine.
const minutes = 60_000;
const root = join(import.meta.dirname, '..');
const copy = mkdtempSync(join(tmpdir(), 'agentmesh-contributing-'));
const unwanted = ['node_modules', 'dist', '.git', '.mesh', 'coverage'];
const page = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
/** The files of the copy before the first step. */
let untouched: Map<string, string>;

beforeAll(async () => {
  await cp(root, copy, { recursive: true, filter: (path) => !unwanted.includes(basename(path)) });
  untouched = await filesOf(copy);
}, 10 * minutes);
afterAll(() => rm(copy, { recursive: true, force: true }));
async function filesOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const wanted = entries.filter(({ name }) => !unwanted.includes(name));
  const found = await Promise.all(
    wanted.map(async (entry): Promise<[string, string][]> => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return [...(await filesOf(path))];
      return [[relative(copy, path), await readFile(path, 'latin1')]];
    }),
  );
  return new Map(found.flat());
}

/** Runs a command of package.json in the copy, as a contributor does. New dependencies are installed. */
async function npmRun(command: string, ...args: string[]): Promise<string> {
  const { CI: _frozen, ...env } = process.env;
  const { stdout } = await promisify(execFile)('npm', ['run', command, '--', ...args], {
    cwd: copy,
    env: { ...env, NO_COLOR: '1' },
    maxBuffer: 16 * 1024 * 1024,
  }).catch((error) => {
    throw new Error(`npm run ${command}: ${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

/** Lists the files that differ from the repository. */
async function changedFiles(): Promise<string[]> {
  const there = await filesOf(copy);
  return [...there].flatMap(([file, text]) => (untouched.get(file) === text ? [] : [file])).sort();
}

interface Step {
  file: string;
  language: string;
  text: string;
}

/** Returns the code blocks of a section, each with the last file that the text before it names. */
function stepsOf(title: string): Step[] {
  const section = page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0];
  if (section === undefined) throw new Error(`CONTRIBUTING.md has no section ${title}`);
  let before = '';
  const parts = section.split(/^ {3}```(?=\w)/m);
  return parts.flatMap((part, at) => {
    const [block = '', after = ''] = at === 0 ? ['', part] : part.split(/^ {3}```$/m);
    const file = [...before.matchAll(/`([\w./-]+\.(?:ts|json))`/g)].at(-1)?.[1];
    before += after;
    if (at === 0) return [];
    const [language = '', ...lines] = block.split('\n');
    if (file === undefined) throw new Error(`${title}: a block without a file`);
    return [{ file, language, text: lines.map((line) => line.slice(3)).join('\n') }];
  });
}

/** Creates the file of a step, or applies its diff. */
async function apply({ file, language, text }: Step) {
  const path = join(copy, file);
  if (language !== 'diff') {
    expect(existsSync(path), `${file} is new`).toBe(false);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    return;
  }
  const lines = text.trimEnd().split('\n');
  const linesWithout = (sign: string) =>
    `${lines.flatMap((line) => (line.startsWith(sign) ? [] : [line.slice(1)])).join('\n')}\n`;
  const old = await readFile(path, 'utf8');
  expect(old.split(linesWithout('+')).length, `${file} has the lines of the diff once`).toBe(2);
  await writeFile(
    path,
    old.replace(linesWithout('+'), () => linesWithout('-')),
  );
}

/** Follows a section. Returns the files that a contributor writes. */
async function follow(title: string): Promise<string[]> {
  const before = await changedFiles();
  const steps = stepsOf(title);
  for (const step of steps) await apply(step);
  const byHand = (await changedFiles()).filter((file) => !before.includes(file));
  expect(byHand, title).toEqual([...new Set(steps.map(({ file }) => file))].sort());
  return byHand;
}

const askEcho = `
  import { launchMesh } from '@agentmesh/deploy/launch';
  import { samples } from '@agentmesh/deploy/samples';
  const services = samples.filter(({ manifest }) => manifest.name === 'echo_agent');
  await using mesh = await launchMesh({ services });
  const post = (path, body) => fetch(mesh.gatewayUrl + path, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  });
  await post('/apps/echo_app/users/ann/sessions/s1', {});
  const newMessage = { role: 'user', parts: [{ text: 'Hello, mesh!' }] };
  const answer = await post('/run', { appName: 'echo_app', userId: 'ann', sessionId: 's1', newMessage });
  console.log(JSON.stringify(await answer.json()));`;

// Each check of the whole copy takes most of a minute, so all sections are followed before the first one.
describe('CONTRIBUTING.md', () => {
  const byHand: Record<string, string[]> = {};
  beforeAll(async () => {
    for (const title of ['Add an agent', 'Add an error code', 'Add a subject'])
      byHand[title] = await follow(title);
    await npmRun('generate');
    await npmRun('check');
  }, 5 * minutes);

  it('adds an agent with three files, an error code with one, a subject with three', async () => {
    expect(Object.values(byHand).map((files) => files.length)).toEqual([3, 1, 3]);
    const written = Object.values(byHand).flat();
    const generated = (await changedFiles()).filter((file) => !written.includes(file));
    const ofAgent = [
      'deploy/README.md',
      'deploy/compose.yaml',
      'deploy/nats/nats-server.conf',
      'deploy/redis/users.acl',
      'pnpm-lock.yaml',
    ];
    const ofError = ['docs/errors.md', 'docs/schemas/error.schema.json'];
    const ofSubject = ['docs/asyncapi.yaml', 'docs/message-lifecycle.md', 'test/wire/v1.json'];
    expect(generated).toEqual([...ofAgent, ...ofError, ...ofSubject].sort());
    expect(await readFile(join(copy, 'docs/errors.md'), 'utf8')).toMatch(/^\| `data_loss` .* 500 /m);
    const rights = await readFile(join(copy, 'deploy/nats/nats-server.conf'), 'utf8');
    expect(rights).toContain('"mesh.v1.agent.stock_agent.reload"');
  });

  it(
    'leaves the tests of what is generated as they are',
    () =>
      npmRun(
        'test:unit',
        ...['test/architecture.test.ts', 'test/docs.test.ts', 'libs/protocol/src/names/subjects.test.ts'],
        ...['deploy/generated.test.ts', 'deploy/compose.test.ts'],
      ),
    5 * minutes,
  );

  it(
    'adds an agent that answers',
    async () => {
      const node = join(copy, 'node_modules/.bin/node');
      const { stdout } = await promisify(execFile)(node, ['--input-type=module', '-e', askEcho], {
        cwd: join(copy, 'test'),
      });
      const events = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as object[];
      expect(events).toMatchObject([
        { author: 'echo_agent', content: { parts: [{ text: 'Hello, mesh!' }] } },
      ]);
    },
    minutes,
  );
});

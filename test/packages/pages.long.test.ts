import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import {
  freePort,
  latestFunctionResponses,
  type ModelScript,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patternOf, Reader, type Step, stepsOf } from './page.fixture.ts';
import { createProject, openProject, type Project } from './project.fixture.ts';

// Follows the pages for newcomers, command by command, in empty folders, with the published packages.
const root = join(import.meta.dirname, '../..');
const minutes = 60_000;
const pageOf = (name: string) => stepsOf(readFileSync(join(root, 'docs', name), 'utf8'));
/** The programs of npm run under this Node, and find the servers of this machine. */
const env = { PATH: [dirname(process.execPath), process.env.PATH, '/usr/sbin'].join(delimiter) };

let place: string;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'agentmesh-pages-'));
});
afterAll(() => rm(place, { recursive: true, force: true, maxRetries: 5 }));

/**
 * Carries a step out, and compares the output with that of the page. An ask in a new session is repeated until the
 * output is right: the dev loop may still restart services whose files have changed.
 */
async function followed(reader: Reader, step: Step): Promise<string> {
  if (step.kind === 'file' || step.output === undefined) return await reader.follow(step);
  const pattern = patternOf(step.output);
  if (!/agentmesh ask (?!.*--session)/.test(step.text)) {
    const output = await reader.follow(step);
    expect(output).toMatch(pattern);
    return output;
  }
  const found = await until(
    async () => {
      const output = await reader.follow(step);
      if (!pattern.test(output)) throw new Error(`${step.text} printed ${output}`);
      return { output };
    },
    { timeoutMs: minutes, what: step.text },
  );
  return found.output;
}

/** Waits until the dev loop has reported that it runs services. */
async function untilRuns(reader: Reader, ...names: string[]): Promise<void> {
  const log = join(reader.folder, '.agentmesh/logs/dev.log');
  const runs = (name: string) => new RegExp(`^${name} runs`, 'm').test(readFileSync(log, 'utf8'));
  await until(() => names.every(runs), { timeoutMs: minutes, what: `the start of ${names.join(', ')}` });
}

/** The script of the migration page. */
const travelScript: ModelScript = (request) => {
  if (request.tools.length === 0) return { text: 'Pack a warm coat' };
  const [result] = latestFunctionResponses(request);
  if (!result) return { calls: [{ name: 'get_weather', args: { city: 'Oslo' } }] };
  if (result.name === 'get_weather')
    return { calls: [{ name: 'packing', args: { request: String(result.response?.weather) } }] };
  return { text: `${String(result.response?.result)} for Oslo.` };
};

interface SeenPart {
  functionCall?: { name: string };
  functionResponse?: { name: string };
  text?: string;
}

describe('docs/migration.md', () => {
  it(
    'takes a program of ADK to the mesh, an agent for each process, with the same events',
    async () => {
      await using model = await startScriptedGemini({ script: travelScript });
      const key = { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'x', GOOGLE_GENAI_API_KEY: 'x' };
      const project = await createProject(join(place, 'travel'), inject('registry'));
      // The reader has ADK already.
      await mkdir(join(project.folder, 'node_modules/@google'), { recursive: true });
      for (const name of ['@google/adk', 'zod'])
        await symlink(join(root, 'test/node_modules', name), join(project.folder, 'node_modules', name));
      const steps = pageOf('migration.md');
      const begin = steps.findIndex(({ kind }) => kind === 'commands');
      await using reader = new Reader(project, { ...env, ...key });
      for (const step of steps.slice(0, begin)) await reader.follow(step);
      const printed = await reader.follow({ kind: 'commands', text: 'node run.ts' });
      // ADK prints lines of its log, too.
      const onAdk = printed
        .split('\n')
        .filter((line) => line.startsWith('travel '))
        .join('\n');
      await reader.follow({ kind: 'commands', text: 'rm -r node_modules' });
      const outputs: string[] = [];
      for (const step of steps.slice(begin)) {
        outputs.push(await followed(reader, step));
        if (step.kind !== 'commands') continue;
        if (step.text.includes('agentmesh dev')) await untilRuns(reader, 'travel', 'packing');
      }
      expect(onAdk.split('\n')).toHaveLength(5);
      expect(outputs[0]).toContain(onAdk);
      expect(await eventsOnMesh(reader.gatewayUrl)).toBe(onAdk);
    },
    8 * minutes,
  );
});

interface SeenEvent {
  author: string;
  content?: { parts?: SeenPart[] };
}

/** Asks the app of the page by the gateway, and prints what happens as the program of the page does. */
async function eventsOnMesh(gatewayUrl: string): Promise<string> {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${gatewayUrl}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const postOnce = async (path: string, body: object) => {
    const { status, text } = await post(path, body);
    expect(status, text).toBe(200);
    return JSON.parse(text) as SeenEvent[];
  };
  /** Sends a run again while no replica is up: `dev` starts a service again when a step has changed its files. */
  const postRun = async (body: object) =>
    await until(async () => {
      const { status, text } = await post('/run', body);
      if (status === 503) return undefined;
      expect(status, text).toBe(200);
      return JSON.parse(text) as SeenEvent[];
    });
  await postOnce('/apps/travel/users/ann/sessions/s1', {});
  const run = {
    app_name: 'travel',
    user_id: 'ann',
    session_id: 's1',
    new_message: 'What do I pack for Oslo?',
  };
  return (await postRun(run))
    .flatMap(({ author, content }) =>
      (content?.parts ?? []).map(
        ({ functionCall, functionResponse, text }) =>
          `${author} ${functionCall?.name ?? functionResponse?.name ?? text}`,
      ),
    )
    .join('\n');
}

describe('docs/tutorial.md', () => {
  it(
    'leads from an empty folder to a deployed agent that asks a person for an approval',
    async () => {
      const folder = join(place, 'tutorial');
      await mkdir(folder);
      const project = openProject(folder, inject('registry'));
      const steps = await withFreePorts(pageOf('tutorial.md'), ['14222', '16379', '18000']);
      await using reader = new Reader(project, env);
      await using owners = new AsyncDisposableStack();
      for (const step of steps) {
        if (step.kind === 'commands' && step.text.includes('bash start-all.sh')) {
          await deploy(reader, project, owners);
          continue;
        }
        await followed(reader, step);
        if (step.kind === 'commands' && step.text.includes('agentmesh dev'))
          await untilRuns(reader, 'helper', 'get_time');
      }
      for (const file of ['compose.yaml', 'Dockerfile', 'definitions.json'])
        expect(existsSync(join(reader.folder, 'deploy', file)), file).toBe(true);
      expect(await reader.stopDev()).toBe(0);
    },
    8 * minutes,
  );
});

/** Replaces the ports of a page by free ones. */
async function withFreePorts(steps: readonly Step[], ports: readonly string[]): Promise<Step[]> {
  const free = await Promise.all(ports.map(async (port) => [port, String(await freePort())] as const));
  const inText = (text: string) => free.reduce((each, [from, to]) => each.replaceAll(from, to), text);
  return steps.map((step) => ({ ...step, text: inText(step.text) }));
}

/** Starts the deployment of the tutorial, whose agent asks a scripted model, until its gateway knows the agent. */
async function deploy(reader: Reader, project: Project, owners: AsyncDisposableStack): Promise<void> {
  const { script } = await import(join(reader.folder, 'model.script.ts'));
  const model = owners.use(await startScriptedGemini({ script }));
  const folder = reader.folder;
  const command = ['bash', '-c', `cd '${folder}' && exec bash start-all.sh 2>start-all.log`];
  const child = project.start(command, { ...env, GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'x' });
  const ended = once(child, 'exit');
  owners.defer(async () => {
    // The servers and the services are in the group of the shell.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  });
  const [, port] = /MESH_HTTP_PORT=(\d+)/.exec(readFileSync(join(folder, 'start-all.sh'), 'utf8')) ?? [];
  const isUp = async () => {
    const apps = await fetch(`http://127.0.0.1:${port}/list-apps`).then((response) => response.text());
    return apps.includes('desk');
  };
  await until(() => isUp().catch(() => false), { timeoutMs: minutes, what: 'the deployment' });
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endProcess, until } from '@agentmesh/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { linesOf } from '../commands.fixture.ts';
import { makeProject, type Project } from '../project.fixture.ts';

const main = join(import.meta.dirname, '../main.ts');
const patience = { timeoutMs: 90_000, intervalMs: 100 };

/** A running `agentmesh dev` of a project. */
class Dev {
  readonly project: Project;
  readonly child: ChildProcess;
  output = '';

  constructor(project: Project, words: readonly string[], env: Record<string, string> = {}) {
    this.project = project;
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(process.execPath, [main, 'dev', ...words], {
      cwd: project.root,
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        this.output += data.toString();
      });
    this.child = child;
  }

  /** Waits for a text in the output, from a position on. */
  async prints(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    const found = () => {
      if (this.child.exitCode !== null) throw new Error(`dev has ended:\n${this.output}`);
      return pattern.exec(this.output.slice(from)) ?? undefined;
    };
    return await until(found, { ...patience, what: String(pattern) }).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.output}`);
    });
  }

  async variables(): Promise<Record<string, string>> {
    return JSON.parse(await readFile(join(this.project.root, '.agentmesh/context.json'), 'utf8')).variables;
  }

  /** Sends a message to the app `helper` at the gateway, and returns the last text. */
  async ask(text: string): Promise<string> {
    const { MESH_GATEWAY_URL: url } = await this.variables();
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(await response.text());
      return await response.json();
    };
    const { id } = (await post('/apps/helper/users/ann/sessions', {})) as { id: string };
    const newMessage = { role: 'user', parts: [{ text }] };
    const run = { appName: 'helper', userId: 'ann', sessionId: id, newMessage };
    const events = (await post('/run', run)) as { content?: { parts?: { text?: string }[] } }[];
    return events.at(-1)?.content?.parts?.[0]?.text ?? '';
  }

  /** Presses Ctrl-C, and waits for the end. */
  async stop(): Promise<number | null> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGINT');
    await ended;
    return this.child.exitCode;
  }
}

/** Returns the command lines of processes that work in a project. */
async function processesOf(root: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args=']);
  return stdout.split('\n').filter((line) => line.includes(root));
}

const pidOf = (output: string, name: string) =>
  Number(new RegExp(`• ${name} runs \\(pid (\\d+)\\)`).exec(output)?.[1]);
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('agentmesh dev', () => {
  let dev: Dev | undefined;
  afterEach(async () => {
    if (dev) await endProcess(dev.child, 'SIGKILL');
    await dev?.project[Symbol.asyncDispose]();
    dev = undefined;
  });

  it('runs each service as a process, and starts again what changed, crashed, came and went', async () => {
    dev = new Dev(
      await makeProject(),
      ['--servers', 'local', '--replicas', 'helper=2', '--replicas', 'helpr=2'],
      {
        MESH_ACK_WAIT_MS: '3000',
        MESH_DATA_DIR: '/nowhere',
      },
    );
    const { root } = dev.project;
    await dev.prints(/the mesh is running[\s\S]*apps {5}helper/);
    expect(dev.output).toContain(
      '--replicas names helpr, which is no service of the project; did you mean helper?',
    );
    expect([...dev.output.matchAll(/• helper runs/g)]).toHaveLength(2);
    expect(await dev.ask('What time is it in Tokyo?')).toMatch(/^In Tokyo it is \d\d:/);
    // Commands find the mesh by its context file.
    const place = { env: { PATH: process.env.PATH }, cwd: join(root, 'agents') };
    expect(await linesOf(place, ['ask', 'helper', 'What time is it in Paris?'])).toEqual([
      expect.stringMatching(/^In Paris it is/),
    ]);
    expect((await linesOf(place, ['ls'])).join('\n')).toMatch(
      /agent {2}helper .* replicas: 2 .*\ntool {2}get_time/,
    );
    expect((await linesOf(place, ['doctor'])).at(-1)).toBe('no problem was found');
    const logs = await linesOf(place, ['logs', 'get_time', '--lines', '2']);
    expect(logs).toHaveLength(2);
    expect(logs[1]).toMatch(/INFO {2}tool_get_time: call ended .*outcome=completed/);
    await expect(linesOf(place, ['logs', 'get_tme'])).rejects.toThrow('did you mean get_time?');
    const { mode } = await stat(join(root, '.agentmesh/context.json'));
    expect((mode & 0o777).toString(8)).toBe('600');

    // The tool alone starts again when its file changes.
    const before = { tool: pidOf(dev.output, 'get_time'), agent: pidOf(dev.output, 'helper') };
    const tool = join(root, 'tools/get_time/tool.ts');
    const text = await readFile(tool, 'utf8');
    let from = dev.output.length;
    await writeFile(
      tool,
      text.replace("status: 'success', city,", "status: 'success', city: city.toUpperCase(),"),
    );
    await dev.prints(/• get_time runs \(pid/, from);
    expect(dev.output.slice(from)).not.toContain('• helper runs');
    expect(isAlive(before.tool)).toBe(false);
    expect(isAlive(before.agent)).toBe(true);
    await until(
      async () => /^In TOKYO it is/.test((await dev?.ask('What time is it in Tokyo?')) ?? ''),
      patience,
    );

    // A definition that cannot be read leaves the old process at work.
    from = dev.output.length;
    await writeFile(tool, 'export const broken = ;');
    await dev.prints(/• .*tool\.ts cannot be read/, from);
    expect(await dev.ask('What time is it in Paris?')).toMatch(/^In PARIS it is/);
    from = dev.output.length;
    await writeFile(tool, text);
    await dev.prints(/• get_time runs \(pid/, from);

    // A crashed process comes back.
    from = dev.output.length;
    const crashed = pidOf(dev.output.slice(dev.output.lastIndexOf('• get_time runs')), 'get_time');
    process.kill(crashed, 'SIGKILL');
    await dev.prints(
      /• get_time \(pid \d+\) ended: SIGKILL; it is started again in 0\.5 s[\s\S]*• get_time runs/,
      from,
    );

    // A new service is started, and one that is removed is stopped.
    from = dev.output.length;
    await linesOf({ env: { PATH: process.env.PATH }, cwd: root }, ['add', 'tool', 'echo']);
    await dev.prints(/• echo runs \(pid/, from);
    from = dev.output.length;
    await rm(join(root, 'tools/echo'), { recursive: true });
    await dev.prints(/• echo is stopped/, from);

    expect(await readFile(join(root, '.agentmesh/logs/get_time.log'), 'utf8')).toContain('"msg":"started"');
    expect(await dev.stop()).toBe(0);
    await until(async () => (await processesOf(root)).length === 0, { ...patience, what: 'no process' });
  }, 300_000);

  it('runs everything in one process when there are no servers', async () => {
    dev = new Dev(await makeProject(), ['--servers', 'none', '--json', '--level', 'warn']);
    await dev.prints(/the mesh is running/);
    expect(await dev.ask('What time is it in Tokyo?')).toMatch(/^In Tokyo it is \d\d:/);
    const place = { env: { PATH: process.env.PATH }, cwd: dev.project.root };
    await expect(linesOf(place, ['cards', 'list'])).rejects.toThrow('runs in one process');
    const from = dev.output.length;
    const script = join(dev.project.root, 'model.script.ts');
    await writeFile(script, (await readFile(script, 'utf8')).replace('`In $', '`There in $'));
    await dev.prints(/model runs/, from);
    expect(await dev.ask('What time is it in Tokyo?')).toMatch(/^There in Tokyo it is \d\d:/);
    for (const line of dev.output.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('service');
    // Nothing survives dev, even when it has no time to stop anything.
    await endProcess(dev.child, 'SIGKILL');
    await until(async () => (await processesOf(dev?.project.root ?? '')).length === 0, patience);
  }, 120_000);

  it.each([
    [['--replicas', 'helper'], '--replicas must be <service>=<1 to 50>'],
    [['--port', '99999'], 'the port of the gateway must be a number'],
    [['--model', 'gpt'], '--model must be scripted or scripted=<file>'],
    [['--model', 'scripted=none.ts'], 'there is no script'],
    [['--model-url', 'nowhere'], '--model-url must be an address'],
    [['--model', 'scripted', '--model-url', 'http://x'], 'use one of --model and --model-url'],
    [['--servers', 'podman'], 'Allowed choices are auto, local, docker, none'],
  ])('refuses %j', async (words, message) => {
    await using project = await makeProject();
    await expect(linesOf({ env: {}, cwd: project.root }, ['dev', ...words])).rejects.toThrow(message);
  });
});

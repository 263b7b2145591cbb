import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connectNats } from '@agentmesh/bus';
import { endProcess, until } from '@agentmesh/testing';
import { isLongTier } from '@agentmesh/testing/tiers';
import { afterEach, describe, expect, it } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';
import { makeProject } from '../project.fixture.ts';
import { Dev, patience } from './dev.fixture.ts';

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

// Our own imports are read from our sources by a test.
const toolWithKey = `import { FunctionTool } ${['from', "'agentmesh'"].join(' ')};

const key = { credentialKey: 'zones', authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' } };
export const getTimeTool = new FunctionTool({
  name: 'get_time',
  description: 'Tells the time.',
  credentialKeys: ['zones'],
  execute(input, context) {
    const credential = context.getAuthResponse(key);
    if (credential) return { status: 'success', city: 'Tokyo', time: 'noon with ' + credential.apiKey };
    context.requestCredential(key);
    return { status: 'waits' };
  },
});
`;

describe('agentmesh dev', () => {
  let dev: Dev | undefined;
  afterEach(async () => {
    if (dev) await endProcess(dev.child, 'SIGKILL');
    await dev?.project[Symbol.asyncDispose]();
    dev = undefined;
  });

  it.runIf(isLongTier())(
    'runs each service as a process, and starts again what changed, crashed, came and went',
    async () => {
      dev = new Dev(
        await makeProject(),
        ['--servers', 'local', '--replicas', 'helper=2', '--replicas', 'helpr=2'],
        {
          MESH_ACK_WAIT_MS: '3000',
          MESH_DATA_DIR: '/nowhere',
          MESH_ADK_WEB: '1',
        },
      );
      const { root } = dev.project;
      await dev.prints(/the mesh is running[\s\S]*apps {5}helper/);
      const [, webUi = ''] = await dev.prints(/web UI {3}(\S+)/);
      expect(await (await fetch(webUi)).text()).toContain('Agent Development Kit Dev UI');
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
        /agent {2}helper {2}0\.1\.0 .* replicas: 2 {2}requests: 0 {2}runs: 2 {2}errors: 0 .*\ntool {2}get_time {2}0\.1\.0 .* requests: 2/,
      );
      expect((await linesOf(place, ['doctor'])).at(-1)).toBe('no problem was found');
      const logs = await linesOf(place, ['logs', 'get_time', '--lines', '2']);
      expect(logs).toHaveLength(2);
      expect(logs[1]).toMatch(/INFO {2}tool_get_time: call ended .*outcome=completed/);
      await expect(linesOf(place, ['logs', 'get_tme'])).rejects.toThrow('did you mean get_time?');
      const { mode } = await stat(join(root, '.agentmesh/context.json'));
      expect((mode & 0o777).toString(8)).toBe('600');

      // A program of the project starts a run.
      const example = join(import.meta.dirname, '../../../../docs/examples/start-run.mjs');
      await cp(example, join(root, 'start-run.mjs'));
      const { stdout } = await promisify(execFile)(process.execPath, ['start-run.mjs'], { cwd: root });
      expect(stdout).toMatch(/^In Tokyo it is \d\d:/m);

      // A service joins, and leaves, with a login of its own.
      const [joined] = (await jsonOf(place, ['join', 'rate', '--kind', 'tool', '--show'])) as [
        { creds: string; variables: { NATS_URL: string }; rights: { subject: string }[]; notes: string[] },
      ];
      expect(joined.rights.map(({ subject }) => subject)).toContain('$KV.MESH_CARDS.tool.rate');
      expect(joined.notes).toEqual(["no agent calls rate yet; an agent does with remoteTool('rate')"]);
      const login = {
        url: joined.variables.NATS_URL,
        service: 'tool_rate',
        credsFile: joined.creds,
        cards: false,
      };
      const rate = await connectNats(login);
      await expect(Array.fromAsync(rate.request('mesh.v1.tool.get_time.call', {}))).rejects.toMatchObject({
        code: 'permission_denied',
      });
      await rate.announce({ kind: 'tool', name: 'rate', declaration: { name: 'rate' } });
      expect(await linesOf(place, ['revoke', 'rate'])).toHaveLength(1);
      await expect(connectNats(login)).rejects.toThrow();
      await rate[Symbol.asyncDispose]();

      // The tool alone starts again when its file changes.
      const before = { tool: pidOf(dev.output, 'get_time'), agent: pidOf(dev.output, 'helper') };
      const hasKeys = async (pid: number) =>
        (await readFile(`/proc/${pid}/environ`, 'utf8')).includes('CREDENTIAL_KEYS=');
      expect(await Promise.all([before.tool, before.agent].map(hasKeys))).toEqual([false, false]);
      expect(await hasKeys(pidOf(dev.output, 'keeper'))).toBe(true);
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

      // A tool in Python is a process like the others.
      from = dev.output.length;
      await linesOf({ env: { PATH: process.env.PATH }, cwd: root }, ['add', 'tool', 'convert', '--python']);
      await dev.prints(/• convert runs \(pid/, from);
      const { NATS_URL: url = '', MESH_NATS_CREDS: credsFile = '' } = await dev.variables();
      const bus = await connectNats({ url, service: 'provision', credsFile, cards: false });
      const call = async () => {
        const frames = await Array.fromAsync(
          bus.request('mesh.v1.tool.convert.call', { args: { text: 'a' } }),
        );
        return frames.at(-1);
      };
      expect(await call()).toMatchObject({ data: { response: { status: 'success', text: 'a' } } });
      const python = join(root, 'tools/convert/tool.py');
      from = dev.output.length;
      await writeFile(
        python,
        (await readFile(python, 'utf8')).replace('"text": text', '"text": text.upper()'),
      );
      await dev.prints(/• convert runs \(pid/, from);
      expect(await call()).toMatchObject({ data: { response: { text: 'A' } } });
      await bus[Symbol.asyncDispose]();

      expect(await readFile(join(root, '.agentmesh/logs/get_time.log'), 'utf8')).toContain('"msg":"started"');
      expect(await dev.stop()).toBe(0);
      await until(async () => (await processesOf(root)).length === 0, { ...patience, what: 'no process' });
    },
    300_000,
  );

  it('runs everything in one process when there are no servers', async () => {
    dev = new Dev(await makeProject(), ['--servers', 'none', '--json', '--level', 'warn'], {
      MESH_ADK_WEB: '1',
    });
    const [, webUi = ''] = await dev.prints(/the mesh is running[^"]*web UI {3}(.*?)\\n/);
    expect(await (await fetch(webUi)).text()).toContain('Agent Development Kit Dev UI');
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

  it('keeps credentials in one process, and looks at no file that changes no service', async () => {
    const project = await makeProject();
    const { root } = project;
    await writeFile(join(root, 'tools/get_time/tool.ts'), toolWithKey);
    const broken = join(root, 'agents/broken');
    await mkdir(broken);
    await writeFile(join(broken, 'main.ts'), '');
    await writeFile(join(broken, 'agent.ts'), 'export const broken = ;');
    dev = new Dev(project, ['--servers', 'none']);
    await dev.prints(/the mesh is running/);
    const { MESH_GATEWAY_URL: url } = await dev.variables();
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return JSON.stringify(await response.json());
    };
    await post('/apps/helper/users/ann/sessions/s1', {});
    const say = (part: object) =>
      post('/run', {
        ...{ appName: 'helper', userId: 'ann', sessionId: 's1' },
        newMessage: { role: 'user', parts: [part] },
      });
    const question = await say({ text: 'What time is it in Tokyo?' });
    const [, id] = /"id":"([^"]*)","name":"adk_request_credential"/.exec(question) ?? [];
    const response = { exchangedAuthCredential: { authType: 'apiKey', apiKey: 'k1' } };
    const answer = { functionResponse: { id, name: 'adk_request_credential', response } };
    expect(await say(answer)).toContain('In Tokyo it is noon with k1.');

    // A file into which the output of dev goes is such a file.
    await writeFile(join(root, 'dev.log'), dev.output);
    // Changes of one moment are one change.
    await setTimeout(500);
    const script = join(root, 'model.script.ts');
    await writeFile(script, `${await readFile(script, 'utf8')}\n`);
    await dev.prints(/model runs[\s\S]*model runs/);
    expect(dev.output.match(/cannot be read/g)).toHaveLength(1);
    await writeFile(join(root, 'package.json'), `${await readFile(join(root, 'package.json'), 'utf8')}\n`);
    await dev.prints(/cannot be read[\s\S]*cannot be read/);
  }, 120_000);

  it('names the package of the web UI that is not installed, before anything starts', async () => {
    await using project = await makeProject();
    const place = {
      env: { PATH: process.env.PATH, MESH_ADK_WEB: join(project.root, 'ui') },
      cwd: project.root,
    };
    await expect(linesOf(place, ['dev'])).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('in the package @google/adk-devtools it is dist/browser'),
    });
    expect(existsSync(join(project.root, '.agentmesh/logs'))).toBe(false);
  });

  it.each([
    [['--replicas', 'helper'], '--replicas must be <service>=<1 to 50>'],
    [['--port', '99999'], 'the port of the gateway must be a number'],
    [['--model', 'gpt'], '--model must be scripted, scripted=<file> or openai=<name>'],
    [['--model', 'scripted=none.ts'], 'there is no script'],
    [['--model-url', 'nowhere'], '--model-url must be an address'],
    [
      ['--model', 'scripted', '--model-url', 'http://x'],
      '--model-url stands alone, or beside --model openai=<name>',
    ],
    [['--servers', 'podman'], 'Allowed choices are auto, local, docker, none'],
  ])('refuses %j', async (words, message) => {
    await using project = await makeProject();
    await expect(linesOf({ env: {}, cwd: project.root }, ['dev', ...words])).rejects.toThrow(message);
  });
});

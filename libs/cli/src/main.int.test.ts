import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEvent } from '@agentmesh/agent';
import { connectNats } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { pauseProcess } from '@agentmesh/testing';
import { startNats } from '@agentmesh/testing/servers';
import { casesOfTier } from '@agentmesh/testing/tiers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mainProgram as main, runProgram as run } from './commands.fixture.ts';
import { groups } from './groups.ts';
import { lockFolder } from './local/data-lock.ts';
import { makeProject } from './project.fixture.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8');

describe('the operator command in its process', () => {
  it('shows its usage, also with an invalid configuration', async () => {
    const env = { MESH_NAMESPCE: 'x', NATS_URL: 'http//nonsense' };
    const all = await run(['--help'], env);
    expect(all).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Exit codes: 0 done') });
    for (const name of Object.keys(groups)) expect(all.stdout).toContain(`  ${name}`);
    const one = await run(['cards', 'remove', '--help'], env);
    expect(one.exitCode).toBe(0);
    expect(one.stdout).toContain('agentmesh cards remove');
    expect(one.stdout).not.toContain('dead-letters');
  });

  it('prints the version of its package', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
    expect(await run(['--version'])).toMatchObject({ exitCode: 0, stdout: `${version}\n` });
  });

  it('says what the system says, and who holds a project, instead of an internal error', async () => {
    await using project = await makeProject();
    await using _lock = await lockFolder(join(project.root, '.agentmesh'), 'stop it first');
    const second = await run(['dev', project.root]);
    expect(second.exitCode).toBe(1);
    expect(second.stderr).toContain(`(process ${process.pid}): stop it first`);
    const file = join(project.root, '../file');
    writeFileSync(file, '');
    const inFile = await run(['init', join(file, 'below')]);
    expect(inFile).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/ENOTDIR.*file\/below/) });
  });

  it('ends without an error when the reader of its output goes away', async () => {
    const { promise, resolve } = Promise.withResolvers<number | null>();
    await using nats = await startNats();
    const watching = spawn(process.execPath, [main, 'watch'], {
      env: { PATH: process.env.PATH, NATS_URL: nats.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let errors = '';
    watching.stderr.on('data', (data) => {
      errors += data;
    });
    watching.once('exit', resolve);
    await once(watching.stdout, 'data');
    watching.stdout.destroy();
    await using bus = await connectNats({ url: nats.url, service: 'agent_a', cards: false });
    const ref = { appName: 'app', userId: 'u', sessionId: 's' };
    const event = createEvent({
      invocationId: 'i',
      author: 'a',
      content: { role: 'model', parts: [{ text: 'hi' }] },
    });
    for (let n = 0; n < 3; n += 1) await bus.publish(subjects().sessionEvent(ref, 'i', 'agent_a'), event);
    expect(await promise).toBe(0);
    expect(errors).toBe('');
  });

  // The first one alone in `npm test`: each case starts two processes.
  it.each(
    casesOfTier([
      ['ls'],
      ['ask', 'helper', 'hi'],
      ['doctor'],
      ['streams', 'list'],
      ['pending', 'list', '--all'],
      ['sessions'],
      ['user', 'export', 'app', 'ann', '/proc/agentmesh'],
      ['join', 'x', '--kind', 'tool', '--keys', '/proc/agentmesh'],
      ['accounts', 'list', '/proc/agentmesh'],
      ['render', 'compose'],
      ['dev'],
      ['logs'],
      ['rights', 'list', '/proc/agentmesh.json'],
    ]).map((words) => [words]),
  )('fails without a stack and without a warning of Node, also as JSON: %j', async (words) => {
    const env = {
      ...{ NATS_URL: 'nats://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' },
      MESH_GATEWAY_URL: 'http://127.0.0.1:2',
    };
    const cwd = await mkdtemp(join(tmpdir(), 'agentmesh-bare-'));
    onTestFinished(() => rm(cwd, { recursive: true }));
    // Warns all the time, once the program has begun.
    const warn = "process.listenerCount('SIGTERM')&&process.emitWarning('experiment','ExperimentalWarning')";
    const preload = `data:text/javascript,setInterval(()=>${warn},1).unref()`;
    const ends = await Promise.all([
      run(words, { ...env, NODE_OPTIONS: `--import ${preload}` }, cwd),
      run([...words, '--json'], env, cwd),
    ]);
    for (const { exitCode, stdout, stderr } of ends) {
      expect(exitCode).toBe(1);
      expect(`${stdout}${stderr}`).not.toMatch(/Warning|^\s+at |node:internal|a defect of agentmesh/m);
    }
    const [, { stdout, stderr }] = ends;
    for (const line of `${stdout}${stderr}`.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('refuses an unknown command', async () => {
    const { exitCode, stderr } = await run(['dead-leters', 'list']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('there is no command "dead-leters list"; did you mean dead-letters list?');
    expect((await run([])).exitCode).toBe(2);
    const asJson = await run(['dead-leters', 'list', '--json']);
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { code: 'invalid_argument' } });
    const group = await run(['cards']);
    expect(group).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^cards needs one more word\n/),
    });
    expect(group.stderr).toContain('agentmesh cards list');
    expect(group.stderr).not.toContain('dead-letters');
    const incomplete = await run(['cards', 'remove', 'agent']);
    const extra = await run(['cards', 'list', 'tools']);
    expect(extra).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^cards list does not take "tools"\n/),
    });
    expect(incomplete).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("argument 'name'") });
    const option = await run(['cards', 'list', '--jsn']);
    expect(option).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('cards list has no option --jsn; did you mean --json?'),
    });
  });

  it('ignores variables of other processes, and reports that no mesh is running', async () => {
    const names = [...page.matchAll(/`(MESH_(?:HTTP|RUN|UNREAD|WHEN|UPLOAD|BODY|REQUEST|DATA)_[A-Z_]+)`/g)];
    const env = Object.fromEntries(names.map(([, name = '']) => [name, '1']));
    expect(Object.keys(env)).toContain('MESH_DATA_DIR');
    expect(Object.keys(env).length).toBeGreaterThan(7);
    const { exitCode, stderr } = await run(['cards', 'list'], { ...env, NATS_URL: 'nats://127.0.0.1:1' });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/no NATS server answers at nats:\/\/127\.0\.0\.1:1 .*\n.*agentmesh dev/);
    expect((await run(['cards', 'list'], { MESH_NAMESPCE: 'x' })).stderr).toContain('MESH_NAMESPACE');
  });

  it('ends after two seconds when a NATS server accepts connections and says nothing', async () => {
    await using nats = await startNats();
    using _pause = pauseProcess(nats.pid);
    const env = { NATS_URL: nats.url, MESH_NATS_USER: 'provision', MESH_NATS_PASSWORD: 'x' };
    for (const words of [
      ['streams', 'list'],
      ['cards', 'list'],
    ]) {
      const { exitCode, stderr } = await run(words, env);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/no NATS server answers at .* within 2000 ms.*\n.*agentmesh dev/);
    }
  }, 60_000);
});

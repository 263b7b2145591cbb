import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startTcpProxy, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, linesOf, mainProgram } from '../commands.fixture.ts';
import { startTalkMesh, type TalkPlace } from './talk.fixture.ts';

describe('the commands that talk to a mesh, in their processes', () => {
  const owners = new AsyncDisposableStack();
  let place: TalkPlace;
  const command = (...words: string[]) => linesOf(place, words);
  const json = async (...words: string[]) => await jsonOf(place, words);

  beforeAll(async () => {
    place = await startTalkMesh(owners);
  });
  afterAll(() => owners.disposeAsync());

  /** Starts the command as a person does, and waits for a text on stderr. */
  async function start(words: string[], isReady: () => Promise<unknown>, env: Record<string, string> = {}) {
    const child = spawn(process.execPath, [mainProgram, ...words], {
      env: { PATH: process.env.PATH, ...place.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (data) => {
        output[name] += data;
      });
    const ended = once(child, 'exit');
    return {
      output,
      isReady,
      async exit() {
        await ended;
        return child.exitCode;
      },
      async interrupt() {
        await isReady();
        child.kill('SIGINT');
        await ended;
        return child.exitCode;
      },
    };
  }

  it('say what a silent run waits for, and after Ctrl-C how to come back', async () => {
    const words = ['ask', 'payer', 'hang', '--user', 'ann lee', '--session', 's-hang', '--verbose'];
    const waits = '… waits for hang({"for":"ever"}) of payer: 5 s\n';
    const asking = await start(words, () =>
      until(() => asking.output.stderr.includes(waits), { timeoutMs: 20_000 }),
    );
    expect(await asking.interrupt()).toBe(130);
    const [, invocation = ''] = /run (e-\S+) of session s-hang goes on/.exec(asking.output.stderr) ?? [];
    expect(asking.output).toEqual({
      stdout: '',
      stderr: `${waits}stopped by Ctrl-C; run ${invocation} of session s-hang goes on
  see it:    agentmesh invocations show ${invocation} --app pay_app --user 'ann lee'
  cancel it: agentmesh cancel pay_app 'ann lee' s-hang ${invocation}
  talk on:   agentmesh chat pay_app --session s-hang --user 'ann lee'
`,
    });
    const show = ['invocations', 'show', invocation, '--app', 'pay_app', '--user', 'ann lee'];
    expect((await command(...show))[0]).toContain('running');
    await command('cancel', 'pay_app', 'ann lee', 's-hang', invocation);
    await until(async () => (await command(...show))[0]?.includes('cancelled'), {
      what: 'the end of the run',
    });
  }, 60_000);

  it('name run and session after Ctrl-C as JSON, and tell nothing else', async () => {
    const asking = await start(['ask', 'payer', 'hang', '--session', 's-json', '--json', '--verbose'], () =>
      until(async () => (await json('invocations', 'list', 'pay_app', 's-json')).flat().length > 0, {
        what: 'the run',
      }),
    );
    await until(async () =>
      (await json('sessions', 'pay_app'))
        .flat()
        .some((each) => (each as { session: string }).session === 's-json'),
    );
    expect(await asking.interrupt()).toBe(130);
    const { error } = JSON.parse(asking.output.stderr);
    expect(error).toMatchObject({
      code: 'cancelled',
      details: { app: 'pay_app', user: 'dev', session: 's-json', invocation: expect.stringMatching(/^e-/) },
    });
    await command('cancel', 'pay_app', 'dev', 's-json', error.details.invocation);
  }, 60_000);

  it('say how to come back when the connection to the gateway is lost', async () => {
    const { hostname, port } = new URL(place.env.MESH_GATEWAY_URL ?? '');
    await using proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    const waits = '… waits for hang';
    const asking = await start(
      ['ask', 'payer', 'hang', '--session', 's-cut', '--verbose'],
      () => until(() => asking.output.stderr.includes(waits), { timeoutMs: 20_000 }),
      { MESH_GATEWAY_URL: `http://${proxy.host}:${proxy.port}` },
    );
    await asking.isReady();
    await proxy[Symbol.asyncDispose]();
    expect(await asking.exit()).toBe(1);
    expect(asking.output.stderr).toMatch(
      /the connection to the gateway was lost; run (e-\S+) of session s-cut goes on\n {2}see it: .*\n {2}cancel it: .*\n {2}talk on: /,
    );
    const [, invocation = ''] = /run (e-\S+)/.exec(asking.output.stderr) ?? [];
    await command('cancel', 'pay_app', 'dev', 's-cut', invocation);
  }, 60_000);

  it('name the session after Ctrl-C at the prompt of a chat', async () => {
    const chat = await start(['chat', 'pay_app', '--session', 's-chat'], () =>
      until(() => chat.output.stderr.includes('> ')),
    );
    expect(await chat.interrupt()).toBe(130);
    expect(chat.output.stderr).toBe(
      '> stopped by Ctrl-C; the session is s-chat\n  talk on:   agentmesh chat pay_app --session s-chat\n',
    );
  });
});

import { FunctionTool, LlmAgent } from '@agentmesh/agent';
import { header, type ServiceKind } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** Makes a program that is no process of the mesh. */
function outsider({ hub }: ReturnType<typeof memoryMesh>) {
  const link = hub.openLink('outsider');
  let sent = 0;
  return {
    run: (agent: string, command: unknown, headers = {}) =>
      link.enqueue({
        subject: `mesh.v1.agent.${agent}.run.${sessionOf(command)}`,
        headers: { [header.messageId]: `run-${++sent}`, ...headers },
        bytes: encode(command),
      }),
    async ask(subject: string, payload: unknown): Promise<unknown> {
      const reply = Promise.withResolvers<unknown>();
      const inbox = `${link.inbox}.${++sent}`;
      const listening = await link.listen(inbox, ({ bytes }) =>
        reply.resolve(JSON.parse(new TextDecoder().decode(bytes))),
      );
      link.send({ subject, headers: {}, bytes: encode(payload), reply: inbox });
      return await reply.promise.finally(() => listening.drain());
    },
    /** Answers each call of a tool with one plain reply. */
    tool: async (name: string, reply: unknown) => {
      await link.putCard(`tool.${name}`, encode(cardOf('tool', name)));
      await link.listen(`mesh.v1.tool.${name}.call`, ({ reply: subject = '' }) =>
        link.send({ subject, headers: {}, bytes: encode(reply) }),
      );
    },
  };
}

const sessionOf = (command: unknown) => (command as { session?: string }).session ?? 'new';

const cardOf = (kind: ServiceKind, name: string) => ({ kind, name, declaration: { name } });

async function stage() {
  const mesh = memoryMesh();
  const model = new ScriptedLlm(says('hello'), says('hello'));
  const service = await mesh.connect('agent_root');
  const served = await serveAgent(service, new LlmAgent({ name: 'root', model }), { app: 'app' });
  return { mesh, model, program: outsider(mesh), stop: () => served.stop({ graceMs: 0 }) };
}

describe('a run command of another program', () => {
  it.each([
    [
      'with a misspelled field',
      { message: 'hi', sessionn: 's' },
      /"sessionn\\" is not known; did you mean session\?/,
    ],
    [
      'with one below runConfig',
      { message: 'hi', runConfig: { maxLlmCals: 1 } },
      /did you mean runConfig.maxLlmCalls\?/,
    ],
    [
      'with a misspelled field of a part',
      { message: { parts: [{ txt: 'hi' }] } },
      /"message.parts.0.txt\\" is not known; did you mean message.parts.0.text\?/,
    ],
    ['without a message', { session: 's' }, /the run command has no message/],
  ])('%s becomes a dead letter, and the log names the field', async (_what, command, words) => {
    const { mesh, model, program, stop } = await stage();
    await program.run('root', command);
    await until(() => mesh.lines.length > 0, { what: 'the log' });
    expect(mesh.lines.join('')).toMatch(words);
    expect(model.requests).toEqual([]);
    await stop();
  });

  it('may have an unknown field if it comes from a process of the mesh, which may be newer', async () => {
    const { mesh, model, program, stop } = await stage();
    await program.run('root', { message: 'hi', later: 1 }, { [header.replica]: 'agent_x-1-00000000' });
    await until(() => model.requests.length === 1, { what: 'the model to be asked' });
    expect(mesh.lines).toEqual([]);
    await stop();
  });
});

it('an ask and a call with a misspelled field are refused, and the reply names it', async () => {
  const { mesh, program, stop } = await stage();
  const echo = new FunctionTool({ name: 'echo', description: 'echoes', execute: (args) => args });
  const tool = await serveTool(await mesh.connect('tool_echo'), echo);
  expect(await program.ask('mesh.v1.agent.root.ask', { mesage: 'hi', message: 'hi' })).toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('did you mean message?'),
  });
  expect(await program.ask('mesh.v1.tool.echo.call', { arg: { a: 1 } })).toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('did you mean args?'),
  });
  expect(
    await program.ask('mesh.v1.tool.echo.call', { args: { sessio: 1 }, context: { sessio: 's' } }),
  ).toMatchObject({ message: expect.stringContaining('did you mean context.session?') });
  expect(await program.ask('mesh.v1.tool.echo.call', { args: { a: 1 } })).toMatchObject({
    response: { a: 1 },
  });
  await tool.stop({ graceMs: 0 });
  await stop();
});

describe('an update of another program', () => {
  const subject = 'mesh.v1.operation.root.call-1.client';
  const update = { final: true, response: 1, invocationld: 'e' };
  const send = async (headers: Record<string, string>) => {
    const { mesh, stop } = await stage();
    const link = mesh.hub.openLink('outsider');
    await link.enqueue({ subject, headers: { [header.messageId]: 'u', ...headers }, bytes: encode(update) });
    await until(() => mesh.lines.length > 0, { what: 'the log' });
    await stop();
    return mesh.lines.join('');
  };

  it('becomes a dead letter when a field is misspelled, and the log names the field', async () => {
    expect(await send({})).toMatch(/"invocationld\\" is not known; did you mean invocationId\?/);
  });

  it('may have an unknown field if it comes from a process of the mesh', async () => {
    expect(await send({ [header.replica]: 'tool_x-1-00000000' })).toMatch(
      /no call call-1|not pending|unknown/,
    );
  });
});

it('a cancellation with a misspelled field is ignored, and the log names the field', async () => {
  const { mesh, stop } = await stage();
  const link = mesh.hub.openLink('outsider');
  const cancel = { app: 'app', usr: 'ann' };
  link.send({ subject: 'mesh.v1.invocation.e-1.cancel.client', headers: {}, bytes: encode(cancel) });
  await until(() => mesh.lines.length > 0, { what: 'the log' });
  expect(mesh.lines.join('')).toMatch(/did you mean user\?/);
  await stop();
});

describe('the reply of a tool that is no process of the mesh', () => {
  it.each([
    ['{"time":"12:00"}', { time: '12:00' }, 'field "time" is not known'],
    ['a misspelled field', { respnse: 1 }, 'did you mean response?'],
    [
      'a misspelled action',
      { response: 1, actions: { statDelta: { a: 1 } } },
      'field "actions.statDelta" is not known; did you mean actions.stateDelta?',
    ],
    [
      'an unknown action',
      { response: 1, actions: { memory: 1 } },
      'field "actions.memory" is not known; the fields are stateDelta,',
    ],
    ['{}', {}, 'has no response'],
    ['"12:00"', '12:00', 'expected object'],
  ])('%s is no result: the model is told, and the log', async (_text, reply, words) => {
    const mesh = memoryMesh();
    await outsider(mesh).tool('clock', reply);
    const model = new ScriptedLlm(calls('clock'), says('done'));
    const root = new LlmAgent({ name: 'root', model, tools: [remoteTool('clock')] });
    const served = await serveAgent(await mesh.connect('agent_root'), root, { app: 'app' });
    const { say } = await mesh.chat('app');
    const { events } = await say('what time is it?');
    const response = events[1]?.content?.parts?.[0]?.functionResponse?.response;
    expect(response?.error).toContain('the reply of tool clock');
    expect(response?.error).toContain(words);
    expect(mesh.lines.join('')).toContain('a tool replied with an invalid result');
    await served.stop({ graceMs: 0 });
  });

  it('is the result if it has a response', async () => {
    const mesh = memoryMesh();
    await outsider(mesh).tool('clock', { response: { time: '12:00' } });
    const model = new ScriptedLlm(calls('clock'), says('done'));
    const root = new LlmAgent({ name: 'root', model, tools: [remoteTool('clock')] });
    const served = await serveAgent(await mesh.connect('agent_root'), root, { app: 'app' });
    const { say } = await mesh.chat('app');
    const { events } = await say('what time is it?');
    expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ time: '12:00' });
    await served.stop({ graceMs: 0 });
  });
});

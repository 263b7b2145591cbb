import { AgentTool, BaseAgent, type Event, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { createLogger } from '@agentmesh/service';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

type Line = Record<string, unknown> & { msg: string };

/** Makes a mesh whose services log into one list. */
function loggingMesh(level: 'debug' | 'info' = 'info') {
  const lines: Line[] = [];
  const { connect, chat } = memoryMesh();
  return {
    lines,
    chat,
    of: (msg: string) => lines.filter((line) => line.msg === msg),
    async join(service: string) {
      const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
      return {
        ...(await connect(service)),
        log: createLogger({ service, replica: 'r', level, destination }),
      };
    },
  };
}

const broken = () =>
  new FunctionTool({
    name: 'convert',
    description: 'converts',
    execute: () => {
      throw new TypeError("Cannot read properties of undefined (reading 'rate')");
    },
  });

it('logs the end of a run with its costs, and the error of its tool with its stack', async () => {
  const mesh = loggingMesh();
  const model = new ScriptedLlm(calls('convert'), says('sorry'));
  const root = new LlmAgent({ name: 'root', model, tools: [broken()] });
  await using _served = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const { say } = await mesh.chat('app');
  const { events } = await say('hi');
  await until(() => mesh.of('run ended').length === 1, { what: 'the line' });
  const [event] = events;
  const ids = { invocationId: event?.invocationId, session: expect.any(String) };
  expect(mesh.of('run ended')).toMatchObject([
    { level: 'info', agent: 'root', app: 'app', ...ids, outcome: 'completed', attempt: 1 },
  ]);
  expect(mesh.of('run ended')[0]?.durationMs).toEqual(expect.any(Number));
  const callId = event?.content?.parts?.[0]?.functionCall?.id;
  expect(mesh.of('a tool threw: the model is told')).toMatchObject([
    { level: 'warn', tool: 'convert', agent: 'root', ...ids, callId, err: { type: 'TypeError' } },
  ]);
  expect(mesh.of('a tool threw: the model is told')[0]).toMatchObject({
    at: expect.stringMatching(/libs\/mesh\/src\/mesh\/outcomes\.test\.ts:\d+:\d+$/),
    err: { stack: expect.stringContaining('outcomes.test.ts') },
    replica: 'r',
  });
  expect(mesh.of('run began')).toMatchObject([
    { level: 'info', agent: 'root', app: 'app', ...ids, hop: 0, attempt: 1 },
  ]);
});

it('logs an exception of a callback with the callback, the tool, the call and the place', async () => {
  const mesh = loggingMesh();
  const root = new LlmAgent({
    name: 'root',
    model: new ScriptedLlm(calls('convert')),
    tools: [broken()],
    beforeToolCallback: () => {
      throw new TypeError('no policy');
    },
  });
  await using _served = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const { say } = await mesh.chat('app');
  const [event] = (await say('hi')).events;
  await until(() => mesh.of('run ended').length === 1, { what: 'the line' });
  const { invocationId } = event ?? {};
  const at = expect.stringMatching(/outcomes\.test\.ts:\d+:\d+$/);
  const callId = event?.content?.parts?.[0]?.functionCall?.id;
  expect(mesh.of('a callback threw: its agent fails')).toMatchObject([
    {
      callback: 'beforeToolCallback',
      tool: 'convert',
      callId,
      invocationId,
      at,
      err: { message: 'no policy' },
    },
  ]);
  expect(mesh.of('run failed')).toMatchObject([{ level: 'error', agent: 'root', invocationId, at }]);
});

it('logs a defect of an asked agent with the ids of the ask, and tells the caller nothing of it', async () => {
  class Broken extends BaseAgent {
    // biome-ignore lint/correctness/useYield: it fails before its first event.
    protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
      throw new TypeError('secret plan');
    }
  }
  const mesh = loggingMesh();
  const model = new ScriptedLlm(calls('helper', { request: 'help' }), says('done'));
  const tools = [new AgentTool({ agent: remoteAgent('helper') })];
  const root = new LlmAgent({ name: 'root', model, tools });
  await using _helper = stopping(
    await serveAgent(await mesh.join('agent_helper'), new Broken({ name: 'helper' })),
  );
  await using _root = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const { say } = await mesh.chat('app');
  const { events } = await say('hi');
  expect(JSON.stringify(events)).not.toContain('secret plan');
  const ids = { agent: 'helper', caller: 'root', invocationId: events[0]?.invocationId };
  expect(mesh.of('ask failed')).toMatchObject([
    { level: 'error', ...ids, at: expect.stringContaining('outcomes.test.ts'), err: { type: 'TypeError' } },
  ]);
  expect(mesh.of('ask began')).toMatchObject([{ level: 'info', ...ids }]);
  expect(mesh.of('ask ended')).toMatchObject([{ ...ids, outcome: 'failed', attempt: 1 }]);
});

it('logs ids and no words of people, models and tools', async () => {
  const mesh = loggingMesh();
  const tool = new FunctionTool({
    name: 'note',
    description: 'notes',
    execute: () => ({ kept: 'word-of-tool' }),
  });
  const model = new ScriptedLlm(calls('note', { text: 'word-of-arguments' }), says('word-of-model'));
  const root = new LlmAgent({ name: 'root', model, tools: [remoteTool('note')] });
  await using _tool = stopping(await serveTool(await mesh.join('tool_note'), tool));
  await using _served = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const { say } = await mesh.chat('app');
  await say('word-of-person');
  await until(() => mesh.of('run ended').length === 1, { what: 'the line' });
  expect(mesh.of('call began')).toMatchObject([{ tool: 'note', agent: 'root' }]);
  expect(JSON.stringify(mesh.lines)).not.toContain('word-of');
});

it('logs that a run waits for its session, and why', async () => {
  const mesh = loggingMesh();
  const release = Promise.withResolvers<void>();
  const tool = new FunctionTool({
    name: 'hold',
    description: 'waits',
    execute: async () => {
      await release.promise;
      return {};
    },
  });
  const model = new ScriptedLlm(calls('hold'), says('one'), says('two'));
  const root = new LlmAgent({ name: 'root', model, tools: [tool] });
  await using _served = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const { say } = await mesh.chat('app');
  const first = say('first');
  await until(() => mesh.of('run began').length === 1, { what: 'the first run' });
  const second = say('second');
  await until(() => mesh.of('run waits for its session').length === 1, { what: 'the line' });
  release.resolve();
  const [
    {
      events: [event],
    },
    { invocationId },
  ] = await Promise.all([first, second]);
  expect(mesh.of('run waits for its session')).toMatchObject([
    { level: 'info', invocationId, holder: event?.invocationId },
  ]);
});

it('logs a tool and an agent that nobody serves: for developers at the start, and at the first turn that uses them', async () => {
  const mesh = loggingMesh('debug');
  const model = new ScriptedLlm(calls('helper', { request: 'x' }), says('no'), says('again'));
  const tools = [remoteTool('get_wether'), new AgentTool({ agent: remoteAgent('helper') })];
  const root = new LlmAgent({ name: 'root', model, tools });
  const weather = new FunctionTool({ name: 'get_weather', description: 'd', execute: () => ({}) });
  await using _tool = stopping(await serveTool(await mesh.join('tool_get_weather'), weather));
  await using _served = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const absent = mesh.lines.filter(({ msg }) => msg.startsWith('uses services that are not in the mesh'));
  expect(absent).toMatchObject([
    { level: 'debug', absent: ['helper', 'get_wether'], known: ['root', 'get_weather'] },
  ]);
  const { say } = await mesh.chat('app');
  await say('hi');
  await say('again');
  expect(mesh.of('nobody serves a tool that a turn uses: its model does not see it')).toMatchObject([
    { level: 'warn', tool: 'get_wether', meant: 'get_weather' },
  ]);
  expect(mesh.of('nobody serves what was called')).toMatchObject([
    { level: 'warn', subject: expect.stringContaining('helper') },
  ]);
});

it('logs the end of asks and calls, and their failures, only in the process that answers them', async () => {
  const mesh = loggingMesh();
  const helper = new LlmAgent({
    name: 'helper',
    model: new ScriptedLlm(calls('convert'), says('no')),
    tools: [remoteTool('convert')],
  });
  const model = new ScriptedLlm(calls('helper', { request: 'help' }), says('done'));
  const root = new LlmAgent({
    name: 'root',
    model,
    tools: [new AgentTool({ agent: remoteAgent('helper') })],
  });
  await using _tool = stopping(await serveTool(await mesh.join('tool_convert'), broken()));
  await using _helper = stopping(await serveAgent(await mesh.join('agent_helper'), helper));
  await using _root = stopping(await serveAgent(await mesh.join('agent_root'), root, { app: 'app' }));
  const { say } = await mesh.chat('app');
  const [event] = (await say('hi')).events;
  await until(() => mesh.of('run ended').length === 1, { what: 'the line' });
  const { invocationId } = event ?? {};
  expect(mesh.of('ask ended')).toMatchObject([
    {
      service: 'agent_helper',
      attempt: 1,
      agent: 'helper',
      caller: 'root',
      invocationId,
      outcome: 'completed',
    },
  ]);
  expect(mesh.of('call ended')).toMatchObject([
    { service: 'tool_convert', tool: 'convert', agent: 'helper', invocationId, outcome: 'failed' },
  ]);
  expect(mesh.of('a tool threw: the model is told')).toMatchObject([
    { service: 'tool_convert', tool: 'convert', invocationId, err: { type: 'TypeError' } },
  ]);
});

it('logs once, with the ids, that a call is sent again', async () => {
  const mesh = loggingMesh();
  const root = new LlmAgent({
    name: 'root',
    model: new ScriptedLlm(calls('convert'), says('done')),
    tools: [remoteTool('convert')],
  });
  const tool = await serveTool(await mesh.join('tool_convert'), broken());
  const caller = await mesh.join('agent_root');
  const request = caller.bus.request.bind(caller.bus);
  let sent = 0;
  caller.bus.request = (...args) => {
    sent += 1;
    return request(...args);
  };
  await using _root = stopping(await serveAgent(caller, root, { app: 'app' }));
  // The card of the stopped tool stays.
  await tool.stop();
  const { say } = await mesh.chat('app');
  const saying = say('hi');
  await expect.poll(() => sent).toBeGreaterThan(3);
  await using _again = stopping(await serveTool(await mesh.join('tool_convert'), broken()));
  const [event] = (await saying).events;
  expect(mesh.of('asking again')).toMatchObject([
    { agent: 'root', invocationId: event?.invocationId, callId: expect.stringContaining('adk-') },
  ]);
});

/** Stops the services at the end of a test. */
function stopping(started: { stop(options?: { graceMs?: number }): Promise<void> }): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => started.stop({ graceMs: 0 }) };
}

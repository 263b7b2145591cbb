import { AgentTool, FunctionTool, LlmAgent } from '@agentmesh/agent';
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
function loggingMesh() {
  const lines: Line[] = [];
  const { connect, chat } = memoryMesh();
  return {
    lines,
    chat,
    of: (msg: string) => lines.filter((line) => line.msg === msg),
    async join(service: string) {
      const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
      return { ...(await connect(service)), log: createLogger({ service, replica: 'r', destination }) };
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
  expect(JSON.stringify(mesh.lines)).toContain('outcomes.test.ts');
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
    { service: 'agent_helper', agent: 'helper', caller: 'root', invocationId, outcome: 'completed' },
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

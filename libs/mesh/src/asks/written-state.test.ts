import {
  AgentTool,
  BaseAgent,
  type Context,
  FunctionTool,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
} from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

/** Makes the parent above a child, which is in the same process or in another one. */
type Program = (child: BaseAgent) => BaseAgent;

const tool = (name: string, execute: (context: Context) => unknown) =>
  new FunctionTool({ name, description: name, execute: (_args, context) => context && execute(context) });
const keys = ['temp:note', 'temp:by'];

/** Makes an agent whose tool tells which state it sees, and then changes `temp:note`. */
function child(saw: string[]): BaseAgent {
  const look = tool('look', ({ state }) => {
    saw.push(keys.map((key) => state.get(key, '-')).join(' '));
    state.set('temp:note', `${state.get('temp:note')}, changed`);
  });
  return new LlmAgent({
    name: 'child',
    model: new ScriptedLlm(calls('look'), says('looked')),
    tools: [look],
  });
}

async function inOneProcess(program: Program) {
  const saw: string[] = [];
  const runner = new InMemoryRunner({ agent: program(child(saw)), appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const newMessage = { role: 'user', parts: [{ text: 'go' }] };
  const events = await Array.fromAsync(runner.runAsync({ userId: 'u', sessionId, newMessage }));
  return { saw, log: events.map(brief) };
}

async function onTheMesh(program: Program) {
  const saw: string[] = [];
  const world = memoryMesh();
  await serveAgent(await world.connect('agent_child'), child(saw));
  await serveAgent(await world.connect('agent_parent'), program(remoteAgent('child')), { app: 'app' });
  const { events } = await (await world.chat('app')).say('go');
  return { saw, log: events.map(brief) };
}

/** Makes an agent whose first answer makes calls of which the last asks the child. */
function asking(toolExecution: 'parallel' | 'sequential', ...first: string[]): Program {
  const write = tool('write', ({ state }) => state.set('temp:note', 'written') ?? {});
  const read = tool('read', ({ state }) => state.get('temp:note', '-'));
  return (agent) =>
    new LlmAgent({
      name: 'parent',
      model: new ScriptedLlm(
        [...first, 'child'].map((name) => ({ functionCall: { name, args: { request: 'look' } } })),
        calls('read'),
        says('done'),
      ),
      toolExecution,
      tools: [write, read, new AgentTool({ agent })],
      beforeToolCallback: ({ tool: { name }, context }) => {
        if (name === 'child') context.state.set('temp:by', 'by a callback');
        return undefined;
      },
    });
}

/** Makes an agent of user code that writes state without an event. */
const direct: Program = (agent) =>
  new (class extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext) {
      Object.assign(context.session.state, { 'temp:by': 'direct', 'temp:note': 'without an event' });
      yield* agent.runAsync(context);
    }
  })({ name: 'parent', subAgents: [agent] });

it.each<[string, Program, string]>([
  ['an earlier call of the step', asking('sequential', 'write'), 'written by a callback'],
  ['a callback before a parallel call', asking('parallel', 'write'), '- by a callback'],
  ['user code', direct, 'without an event direct'],
])('%s shows what it writes to an agent of any process', async (_writer, program, seen) => {
  const here = await inOneProcess(program);
  expect(here.saw).toEqual([seen]);
  expect(await onTheMesh(program)).toEqual(here);
});

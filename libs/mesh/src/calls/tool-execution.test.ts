import { type Context, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { brief, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';

const tool = (name: string, execute: (context: Context) => unknown) =>
  new FunctionTool({ name, description: name, execute: (_args, context) => context && execute(context) });
const write = tool('write', ({ state }) => state.set('temp:note', 'written') ?? {});
const read = tool('read', ({ state }) => state.get('temp:note', 'nothing'));

async function secondResult(toolExecution: 'parallel' | 'sequential'): Promise<string | undefined> {
  const world = memoryMesh();
  for (const each of [write, read]) await serveTool(await world.connect(`tool_${each.name}`), each);
  const both = [{ functionCall: { name: 'write' } }, { functionCall: { name: 'read' } }];
  const agent = new LlmAgent({
    name: 'solo',
    model: new ScriptedLlm(both, says('done')),
    tools: [remoteTool('write'), remoteTool('read')],
    toolExecution,
  });
  await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
  const { events } = await (await world.chat('app')).say('go');
  expect(events.map(brief)).toHaveLength(3);
  return JSON.stringify(events[1]?.content?.parts?.[1]?.functionResponse?.response);
}

it('aborts the signal of a call that is at work, and of no call that has ended', async () => {
  const world = memoryMesh();
  const heard: string[] = [];
  const waits = Promise.withResolvers<void>();
  const listen = new FunctionTool({
    name: 'listen',
    description: 'listens',
    parameters: z.object({ wait: z.boolean() }),
    async execute({ wait }, context) {
      const { abortSignal } = context ?? expect.fail();
      abortSignal?.addEventListener('abort', () => heard.push(wait ? 'at work' : 'ended'));
      if (!wait) return {};
      waits.resolve();
      return await new Promise(() => {});
    },
  });
  const serving = await serveTool(await world.connect('tool_listen'), listen);
  const call = (wait: boolean) => ({ functionCall: { name: 'listen', args: { wait } } });
  const agent = new LlmAgent({
    name: 'solo',
    model: new ScriptedLlm([call(false)], [call(true)], says('done')),
    tools: [remoteTool('listen')],
  });
  await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
  void (await world.chat('app')).say('go');
  await waits.promise;
  await serving.stop({ graceMs: 0 });
  expect(heard).toEqual(['at work']);
});

it('shows a remote call the state of the earlier calls when calls are sequential', async () => {
  expect(await secondResult('sequential')).toBe('{"result":"written"}');
});

it('gives parallel remote calls the state from before them', async () => {
  expect(await secondResult('parallel')).toBe('{"result":"nothing"}');
});

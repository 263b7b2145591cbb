import {
  AgentTool,
  BaseAgent,
  type BaseTool,
  FunctionTool,
  LlmAgent,
  loadMemoryTool,
} from '@agentmesh/agent';
import { describe, expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from './serve-agent.ts';
import { serveTool } from './serve-tool.ts';

describe('a tool with a processLlmRequest of its own', () => {
  class Adding extends FunctionTool {
    override async processLlmRequest(): Promise<void> {}
  }

  it.each<[string, BaseTool]>([
    ['adding', new Adding({ name: 'adding', description: 'adds', execute: () => 1 })],
    ['load_memory', loadMemoryTool],
  ])('is refused by its name: %s', async (name, tool) => {
    const mesh = await memoryMesh().connect(`tool_${name}`);
    await expect(serveTool(mesh, tool)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(`tool ${name} has a processLlmRequest of its own`),
    });
    expect(mesh.bus.directory.list('tool')).toEqual([]);
  });
});

describe('an agent without a model', () => {
  const modelless = () => new LlmAgent({ name: 'bare' });
  const model = new ScriptedLlm();

  it.each<[string, () => BaseAgent]>([
    ['itself', modelless],
    [
      'below an agent of another kind',
      () =>
        new (class extends BaseAgent {
          protected override async *runAsyncImpl() {}
        })({ name: 'own', subAgents: [modelless()] }),
    ],
    [
      'as a tool',
      () => new LlmAgent({ name: 'root', model, tools: [new AgentTool({ agent: modelless() })] }),
    ],
  ])('is refused when it is served: %s', async (_, agent) => {
    const mesh = await memoryMesh().connect('agent_bare');
    await expect(serveAgent(mesh, agent(), { app: 'app' })).rejects.toThrow(/agent bare has no model/);
    expect(mesh.bus.directory.list('agent')).toEqual([]);
  });

  it('has the model of an agent above it, or none to ask', async () => {
    const world = memoryMesh();
    const bare = modelless();
    const elsewhere = new LlmAgent({ name: 'elsewhere', model: new ScriptedLlm(says('there')) });
    await serveAgent(await world.connect('agent_elsewhere'), elsewhere);
    const script = new ScriptedLlm(calls('transfer_to_agent', { agentName: 'bare' }), says('inherited'));
    const subAgents = [bare, remoteAgent('elsewhere')];
    const root = new LlmAgent({ name: 'root', model: script, subAgents });
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief).at(-1)).toBe('bare: inherited');
  });
});

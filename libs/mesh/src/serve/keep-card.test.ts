import { FunctionTool, LlmAgent } from '@agentmesh/agent';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { memoryMesh, ScriptedLlm } from '../harness.fixture.ts';
import { serveAgent } from './serve-agent.ts';
import { serveTool } from './serve-tool.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a living agent and a living tool write their cards again when these are lost', async () => {
  const world = memoryMesh();
  const agent = new LlmAgent({ name: 'root', model: new ScriptedLlm() });
  const tool = new FunctionTool({ name: 'adds', description: 'adds', execute: () => 1 });
  const root = await serveAgent(await world.connect('agent_root'), agent, { app: 'app' });
  const adds = await serveTool(await world.connect('tool_adds'), tool);
  const { bus } = await world.connect('client');
  const cards = () => [bus.directory.get('agent', 'root')?.name, bus.directory.get('tool', 'adds')?.name];
  expect(cards()).toEqual(['root', 'adds']);
  world.hub.loseCards();
  expect(cards()).toEqual([undefined, undefined]);
  await vi.advanceTimersByTimeAsync(75_000);
  expect(cards()).toEqual(['root', 'adds']);
  // Another version of the service wrote its card: it stays.
  await bus.announce({ kind: 'tool', name: 'adds', version: '2.0.0', declaration: { name: 'adds' } });
  await vi.advanceTimersByTimeAsync(200_000);
  expect(bus.directory.get('tool', 'adds')?.version).toBe('2.0.0');
  const stopping = Promise.all([root.stop({ graceMs: 0 }), adds.stop({ graceMs: 0 })]);
  await vi.advanceTimersByTimeAsync(5_000);
  await stopping;
  world.hub.loseCards();
  await vi.advanceTimersByTimeAsync(200_000);
  expect(cards()).toEqual([undefined, undefined]);
});

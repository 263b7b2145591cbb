import { LlmAgent } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from './serve-agent.ts';

it('an agent elsewhere below an agent of this process gets the conversation, keeps it and gives it back', async () => {
  const world = memoryMesh();
  const { client, say } = await world.chat('shop');
  const desk = new LlmAgent({
    name: 'desk',
    model: new ScriptedLlm(calls('transfer_to_agent', { agentName: 'billing' })),
    subAgents: [remoteAgent('billing')],
  });
  const boss = new LlmAgent({
    name: 'boss',
    model: new ScriptedLlm(calls('transfer_to_agent', { agentName: 'desk' }), says('boss again')),
    subAgents: [desk],
  });
  const toBoss = calls('transfer_to_agent', { agentName: 'boss' });
  const billing = new LlmAgent({ name: 'billing', model: new ScriptedLlm(says('one'), says('two'), toBoss) });
  await serveAgent(await world.connect('agent_boss'), boss, { app: 'shop' });
  await serveAgent(await world.connect('agent_billing'), billing);
  const lastOf = async (message: string) => (await say(message)).events.map(brief).at(-1);
  expect(await lastOf('a bill')).toBe('billing: one');
  expect(await lastOf('and more')).toBe('billing: two');
  expect(await lastOf('thanks')).toBe('boss: boss again');
  expect(client.bus.directory.get('agent', 'boss')).toMatchObject({ subAgents: ['desk', 'billing'] });
  expect(world.lines).toEqual([]);
});

import { LlmAgent } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { memoryMesh, ScriptedLlm } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { remoteAgent } from './remote-agent.ts';

const boss = (elsewhere: boolean) =>
  new LlmAgent({
    name: 'boss',
    model: new ScriptedLlm(),
    globalInstruction: () => 'Be brief.',
    subAgents: [elsewhere ? remoteAgent('helper') : new LlmAgent({ name: 'helper' })],
  });

it('a global instruction that is a function is refused where agents in other processes should get it', async () => {
  const world = memoryMesh();
  const serving = serveAgent(await world.connect('agent_boss'), boss(true), { app: 'app' });
  await expect(serving).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('which helper in other processes cannot get'),
  });
});

it('a global instruction that is a function is served where all agents are in this process', async () => {
  const world = memoryMesh();
  const started = await serveAgent(await world.connect('agent_boss'), boss(false), { app: 'app' });
  await started.stop();
});

import { AgentTool, LlmAgent } from '@agentmesh/agent';
import { header } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

type Packets = Parameters<ReturnType<ReturnType<typeof memoryMesh>['hub']['openLink']>['send']>[0][];

it('an ask that its caller has given up is not begun later', async () => {
  const world = memoryMesh();
  const clerk = await world.connect('agent_clerk');
  await clerk.bus.announce({ kind: 'agent', name: 'clerk', description: 'works', version: '0.0.0' });
  // Takes requests and gives no sign of life, as the socket of a paused process does.
  const socket = world.hub.openLink('agent_clerk');
  const requests: Packets = [];
  const onLost = () => {};
  const listening = await socket.listen(
    clerk.subjects.agentDelegate('clerk'),
    (packet) => void requests.push(packet),
    { onLost },
  );
  const model = new ScriptedLlm(calls('clerk', { request: 'pay' }), says('he did not answer'));
  const agent = new LlmAgent({
    name: 'solo',
    model,
    tools: [new AgentTool({ agent: remoteAgent('clerk') })],
  });
  await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
  const { events, end } = await (await world.chat('app')).say('go');
  expect(end).toMatchObject({ status: 'completed' });
  expect(events.map(brief).at(-1)).toBe('solo: he did not answer');
  expect(requests.length).toBeGreaterThan(1);
  // The process wakes, and works on what it finds.
  await listening.drain();
  const clerksModel = new ScriptedLlm(says('paid'));
  await serveAgent(clerk, new LlmAgent({ name: 'clerk', model: clerksModel }), { app: 'clerk_app' });
  const replies: Packets = [];
  await socket.listen(`${socket.inbox}.*`, (packet) => void replies.push(packet), { onLost });
  for (const [n, request] of requests.entries()) socket.send({ ...request, reply: `${socket.inbox}.${n}` });
  const errors = () => replies.filter(({ headers }) => headers[header.frame] === 'error');
  await until(() => errors().length === requests.length, { what: 'the refusals' });
  for (const { bytes } of errors())
    expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({ code: 'cancelled' });
  expect(clerksModel.requests).toEqual([]);
}, 60_000);

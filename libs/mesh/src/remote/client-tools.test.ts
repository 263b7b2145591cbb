import { getFunctionCalls, LlmAgent } from '@agentmesh/agent';
import type { ClientInput } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { remoteAgent } from './remote-agent.ts';
import { remoteTool } from './remote-tool.ts';

const pick = { name: 'pick', description: 'Picks a color.' };

/** Serves a root agent that transfers to a painter in another process. */
async function painters() {
  const world = memoryMesh();
  const model = new ScriptedLlm(calls('pick'), says('red'), says('blue'));
  const painter = new LlmAgent({ name: 'painter', model, tools: [remoteTool('paint')] });
  const root = new LlmAgent({
    name: 'root',
    model: new ScriptedLlm(calls('transfer_to_agent', { agentName: 'painter' })),
    subAgents: [remoteAgent('painter')],
  });
  await serveAgent(await world.connect('agent_painter'), painter);
  await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
  const { client: mesh, ref } = await world.chat('app');
  const send = async (message: Parameters<typeof startRun>[1]['message'], client?: ClientInput) => {
    const more = client && { client };
    const request = { app: 'app', user: 'u', session: ref.sessionId, message, ...more };
    const { events, end } = await startRun(mesh, request);
    return { events: await Array.fromAsync(events), end: await end };
  };
  return { world, mesh, ref, model, send };
}

const toolsOf = ({ requests }: ScriptedLlm) => requests.map(({ toolsDict }) => Object.keys(toolsDict).sort());

it('are known to an agent of another process, and to the run that goes on with the answer', async () => {
  const { world, ref, model, send } = await painters();
  const asked = await send('paint', { tools: [pick], context: [{ description: 'room', value: 'hall' }] });
  expect(asked.events.map(brief).at(-1)).toBe('painter: calls pick');
  expect(asked.end.status).toBe('completed');
  const [call] = await world.sessions.pending.list(ref);
  expect(call).toMatchObject({ name: 'pick', kind: 'result', agent: 'painter' });
  const answer = () =>
    send({ parts: [{ functionResponse: { id: call?.id ?? '', name: 'pick', response: { color: 'red' } } }] });
  expect((await answer()).events.map(brief)).toEqual(['painter: red']);
  await expect(answer()).rejects.toThrow('was answered before');
  expect(await world.sessions.pending.list(ref)).toEqual([]);
  const [first, second] = toolsOf(model);
  expect(first).toContain('pick');
  expect(second).toEqual(first);
  for (const { contents } of model.requests) expect(JSON.stringify(contents)).toContain('hall');
  const stored = await world.sessions.getSession(ref);
  expect(stored?.events.flatMap(getFunctionCalls).map(({ name }) => name)).toContain('pick');
});

it.each([
  ['paint', 'agent painter has a tool of this name'],
  ['transfer_to_agent', 'the framework has a tool of this name'],
  ['adk_request_confirmation', 'the framework has a tool of this name'],
])('may not be called %s', async (name, reason) => {
  const { world, ref, send } = await painters();
  await expect(send('paint', { tools: [{ ...pick, name }] })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining(`the client declares the tool ${name}, and ${reason}`),
  });
  expect((await world.sessions.getSession(ref))?.events).toEqual([]);
});

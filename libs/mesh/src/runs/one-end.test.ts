import { setTimeout as delay } from 'node:timers/promises';
import { LlmAgent, ParallelAgent } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { header, MeshError } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { cancelInvocation } from './cancel-invocation.ts';

/** Makes an agent whose store calls `afterCommit` with each event of the agent that it has committed. */
async function stage(model: ScriptedLlm, afterCommit: (mesh: Mesh, said: string) => Promise<void>) {
  const world = memoryMesh();
  const serve = async () => {
    const mesh = await world.connect('agent_solo');
    const sessions = overrideSessions(mesh.sessions, {
      async appendEvent(request) {
        const event = await mesh.sessions.appendEvent(request);
        if (event.author === 'solo') await afterCommit(mesh, brief(event));
        return event;
      },
    });
    const agent = new LlmAgent({ name: 'solo', model, tools: [remoteTool('work')] });
    await serveAgent({ ...mesh, sessions }, agent, { app: 'app' });
    return mesh;
  };
  const { client, ref } = await world.chat('app');
  const start = async (timeoutMs?: number) => {
    const request = { app: 'app', user: 'u', session: ref.sessionId, message: 'go' };
    const run = await startRun(client, request, timeoutMs === undefined ? {} : { timeoutMs });
    return { ...run, all: Array.fromAsync(run.events) };
  };
  const cancel = (invocationId: string) => cancelInvocation(client, { ...ref, invocationId }, 'enough');
  const record = (invocationId: string) => world.sessions.invocations.get({ ...ref, invocationId });
  const log = async () => (await world.sessions.getSession(ref))?.events.map(brief);
  return { world, client, ref, serve, start, cancel, record, log };
}

it('a run that is cancelled after its last word has ended with that word', async () => {
  let invocationId = '';
  const { serve, start, cancel, record, log, world } = await stage(
    new ScriptedLlm(says('done')),
    async () => void (await cancel(invocationId)),
  );
  await serve();
  const run = await start();
  ({ invocationId } = run);
  expect((await run.all).map(brief)).toEqual(['solo: done']);
  expect(await run.end).toMatchObject({ status: 'completed' });
  expect(await record(invocationId)).toMatchObject({ status: 'completed' });
  expect(await log()).toEqual(['user: go', 'solo: done']);
  expect(world.lines).toEqual([]);
});

it.each([
  ['is cancelled', undefined],
  ['passes its deadline', 300],
])(
  'a run whose process dies after its last word, and that %s then, has ended with that word',
  async (_how, timeoutMs) => {
    const died = Promise.withResolvers<void>();
    const { serve, start, cancel, record, log, world } = await stage(
      new ScriptedLlm(says('done')),
      async (mesh) => {
        world.hub.kill((mesh as Awaited<ReturnType<typeof serve>>).bus);
        died.resolve();
        await new Promise(() => {});
      },
    );
    await serve();
    const run = await start(timeoutMs);
    await died.promise;
    if (timeoutMs === undefined) await cancel(run.invocationId);
    else await new Promise((resolve) => setTimeout(resolve, timeoutMs));
    await serve();
    await run.all;
    expect(await run.end).toMatchObject({ status: 'completed' });
    expect(await record(run.invocationId)).toMatchObject({ status: 'completed' });
    expect(await log()).toEqual(['user: go', 'solo: done']);
  },
);

it('a run that is cancelled between a call and its job leaves no open call', async () => {
  let invocationId = '';
  const { serve, start, cancel, record, log, world, client, ref } = await stage(
    new ScriptedLlm(calls('work')),
    async () => void (await cancel(invocationId)),
  );
  // Nobody works: only its card is there, as of a service that has just gone.
  await client.bus.announce({
    kind: 'tool',
    name: 'work',
    description: 'works',
    version: '0.0.0',
    declaration: { name: 'work' },
    longRunning: true,
  });
  await serve();
  const run = await start();
  ({ invocationId } = run);
  await run.all;
  const end = { status: 'failed', error: { code: 'cancelled', message: 'enough' } };
  expect(await run.end).toMatchObject(end);
  expect(await record(invocationId)).toMatchObject(end);
  expect(await world.sessions.pending.list(ref)).toEqual([]);
  expect(await log()).toEqual(['user: go', 'solo: calls work', 'solo: fails cancelled']);
});

it('a run whose failure cannot be committed ends all the same, and the next run goes on', async () => {
  const world = memoryMesh();
  const mesh = await world.connect('agent_solo');
  const sessions = overrideSessions(mesh.sessions, {
    async appendEvent(request) {
      if (request.event.errorCode !== undefined) throw new MeshError('invalid_argument', 'cannot be stored');
      return await mesh.sessions.appendEvent(request);
    },
  });
  const instruction = ({ userContent }: { userContent?: Content }) => {
    if (userContent?.parts?.[0]?.text === 'one') throw new Error('broken');
    return '';
  };
  const agent = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('two')), instruction });
  await serveAgent({ ...mesh, sessions }, agent, { app: 'app' });
  const chat = await world.chat('app');
  expect((await chat.say('one')).end).toMatchObject({ status: 'failed' });
  expect((await chat.say('two')).end).toMatchObject({ status: 'completed' });
});

it('a run whose deadline an agent elsewhere notices first fails by its deadline', async () => {
  const world = memoryMesh();
  const mesh = await world.connect('agent_solo');
  const elsewhere = await world.connect('agent_slow');
  await elsewhere.bus.announce({ kind: 'agent', name: 'slow', description: 'slow', version: '0.0.0' });
  // Its clock is ahead.
  await elsewhere.bus.serve(elsewhere.subjects.agentDelegate('slow'), async function* ({ headers }) {
    await delay(Number(headers[header.deadline]) - Date.now() - 100);
    yield await Promise.reject(new MeshError('deadline_exceeded', 'too late'));
  });
  const agent = new LlmAgent({
    name: 'solo',
    model: new ScriptedLlm(calls('transfer_to_agent', { agent_name: 'fan' })),
    subAgents: [new ParallelAgent({ name: 'fan', subAgents: [remoteAgent('slow')] })],
  });
  await serveAgent(mesh, agent, { app: 'app' });
  const { client, ref } = await world.chat('app');
  const request = { app: 'app', user: 'u', session: ref.sessionId, message: 'go' };
  const run = await startRun(client, request, { timeoutMs: 1_000 });
  const events = await Array.fromAsync(run.events);
  expect(await run.end).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  expect(brief(events.at(-1) ?? expect.fail())).toBe('solo: fails deadline_exceeded');
  expect(events.filter(({ errorCode }) => errorCode !== undefined)).toHaveLength(1);
});

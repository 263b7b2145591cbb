import { LlmAgent } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { startRun } from './start-run.ts';

/** Starts an agent that stops in its model call, and returns the means to lose it and the command of its run. */
async function stage(sweepMs?: number) {
  const world = memoryMesh();
  const begun = Promise.withResolvers<void>();
  const serve = async (model: ScriptedLlm) => {
    const mesh: Mesh = await world.connect('agent_solo');
    const sessions = overrideSessions(mesh.sessions, {
      leases: { take: (ref, options) => mesh.sessions.leases.take(ref, { ...options, leaseMs: 20 }) },
    });
    const options = { app: 'app', ...(sweepMs !== undefined && { sweepMs }) };
    await serveAgent({ ...mesh, sessions }, new LlmAgent({ name: 'solo', model }), options);
    return mesh;
  };
  const hanging = new ScriptedLlm();
  hanging.generateContentAsync = async function* () {
    begun.resolve();
    await new Promise(() => {});
  };
  const first = await serve(hanging);
  const { client, ref } = await world.chat('app');
  const lose = async () => {
    await begun.promise;
    world.hub.kill(first.bus);
    world.hub.remove('mesh.v1.agent.solo.run.*');
    await serve(new ScriptedLlm(says('done')));
  };
  const timesAsked = () => world.lines.filter((line) => line.includes('gave no sign of life')).length;
  return { world, client, ref, lose, timesAsked };
}

it('a run whose command is lost is published again when a client follows it', async () => {
  const { client, ref, lose, timesAsked } = await stage();
  const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
  const events = Array.fromAsync(run.events);
  await lose();
  expect((await events).map(brief)).toEqual(['solo: done']);
  expect(await run.end).toMatchObject({ status: 'completed' });
  expect(timesAsked()).toBe(1);
}, 30_000);

it('a run whose command is lost is published again although nobody follows it', async () => {
  const { world, client, ref, lose, timesAsked } = await stage(20);
  const invocationId = 'e-plain';
  const command = { app: 'app', user: 'u', session: ref.sessionId, message: 'go', invocationId };
  await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), command, { messageId: 'plain' });
  await lose();
  const record = () => world.sessions.invocations.get({ ...ref, invocationId });
  await expect.poll(async () => (await record()).status).toBe('completed');
  expect(timesAsked()).toBeGreaterThan(0);
});

it('a hop whose command is lost is published again, although the queue knows its message id', async () => {
  const world = memoryMesh();
  const solo = await world.connect('agent_solo');
  const sessions = overrideSessions(solo.sessions, {
    leases: { take: (ref, options) => solo.sessions.leases.take(ref, { ...options, leaseMs: 500 }) },
  });
  const model = new ScriptedLlm(calls('transfer_to_agent', { agent_name: 'other' }));
  const root = new LlmAgent({ name: 'solo', model, subAgents: [remoteAgent('other')] });
  const other = new LlmAgent({ name: 'other', model: new ScriptedLlm(says('done')) });
  // The card of the other agent stays; its process is gone.
  const gone = await world.connect('agent_other');
  await serveAgent(gone, other);
  world.hub.kill(gone.bus);
  await serveAgent({ ...solo, sessions }, root, { app: 'app', sweepMs: 20 });
  const { client, ref } = await world.chat('app');
  const command = { app: 'app', user: 'u', session: ref.sessionId, message: 'go', invocationId: 'e-hop' };
  await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), command, { messageId: 'hop' });
  const hops = 'mesh.v1.agent.other.run.*';
  await expect.poll(() => world.hub.queued(hops)).toBe(1);
  world.hub.remove(hops);
  await serveAgent(await world.connect('agent_other'), other);
  const record = () => world.sessions.invocations.get({ ...ref, invocationId: 'e-hop' });
  await expect.poll(async () => (await record()).status, { timeout: 10_000 }).toBe('completed');
}, 15_000);

it('a run that waits in a session that no run has is started when a client follows it', async () => {
  const world = memoryMesh();
  const mesh: Mesh = await world.connect('agent_solo');
  const { leases } = mesh.sessions;
  let takes = 0;
  const sessions = overrideSessions(mesh.sessions, {
    leases: {
      // The first delivery finds an earlier run, which ends before it sees this one.
      take: (ref, options) => leases.take(ref, { ...options, ...(++takes === 1 && { earlier: 0 }) }),
      nextRun: async () => undefined,
    },
  });
  const model = new ScriptedLlm(says('done'));
  const options = { app: 'app', sweepMs: 600_000 };
  await serveAgent({ ...mesh, sessions }, new LlmAgent({ name: 'solo', model }), options);
  const { client, ref } = await world.chat('app');
  const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
  expect((await Array.fromAsync(run.events)).map(brief)).toEqual(['solo: done']);
  expect(takes).toBe(2);
}, 30_000);

it('an agent looks for lost work in its apps alone, on which its user in Redis has rights', async () => {
  const world = memoryMesh();
  const mesh: Mesh = await world.connect('agent_solo');
  const swept = new Set<string>();
  const busySessions = async (app: string) => {
    swept.add(app);
    return [];
  };
  const sessions = overrideSessions(mesh.sessions, { leases: { busySessions } });
  const agent = (name: string) => new LlmAgent({ name, model: new ScriptedLlm() });
  await serveAgent({ ...mesh, sessions }, agent('solo'), { app: 'app', sweepMs: 20 });
  await expect.poll(() => [...swept]).toEqual(['app']);
  swept.clear();
  await serveAgent({ ...mesh, sessions }, agent('alone'), { sweepMs: 20 });
  await expect.poll(() => [...swept].sort()).toEqual(['alone', 'app']);
});

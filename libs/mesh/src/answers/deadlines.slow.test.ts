import { FunctionTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { startNext } from '../runs/run-queue.ts';
import { serveAgent } from '../serve/serve-agent.ts';

describe('a call with a deadline', () => {
  it('ends at its deadline without an answer, and refuses a late one', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      answerWithinMs: 50,
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('nobody answered'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), {
      app: 'app',
      sweepMs: 100,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [call] = await world.sessions.pending.list(ref);
    expect(call).toMatchObject({ deadline: (call?.created ?? 0) + 50, service: 'solo' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: nobody answered');
    expect((await log()).at(-2)).toMatch(/^user: gets {"expired":true,"error":"nobody answered before /);
    const subject = client.subjects.operation('solo', call?.id ?? '', 'client');
    await client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId: 'late' });
    await until(() => world.hub.queued(client.subjects.dead('agent', 'solo')) === 1);
  });

  it('ends also when the run that should take its end in is cancelled', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      answerWithinMs: 50,
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('nobody answered'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), {
      app: 'app',
      sweepMs: 50,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.leases.take(other, { run: '', whenBusy: 'reject' });
    const waiting: string[] = [];
    const { leases } = world.sessions;
    const { take } = leases;
    leases.take = async (...args) => {
      const taken = await take.apply(leases, args);
      if (taken.state === 'busy') waiting.push(args[0].invocationId);
      return taken;
    };
    await until(() => waiting.length > 0);
    await world.sessions.invocations.cancel({ ...ref, invocationId: waiting[0] ?? '' }, 'enough');
    await world.sessions.invocations.end(other, { status: 'completed' });
    await startNext(client, ref);
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: nobody answered');
    expect(await world.sessions.pending.list(ref)).toEqual([]);
  });

  it('is not made when nobody confirms it in time', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    let paid = 0;
    const pay = new FunctionTool({
      name: 'pay',
      description: 'pays',
      requireConfirmation: true,
      answerWithinMs: 50,
      execute: () => {
        paid += 1;
        return {};
      },
    });
    const model = new ScriptedLlm(calls('pay'), says('not paid'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [pay] }), {
      app: 'app',
      sweepMs: 100,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [question] = await world.sessions.pending.list(ref);
    await until(() => Date.now() > (question?.deadline ?? Number.POSITIVE_INFINITY));
    // A late answer is refused in every way it may come, also before the sweep that ends the call.
    const functionResponse = {
      id: question?.id ?? '',
      name: question?.name ?? '',
      response: { confirmed: true },
    };
    const message = { role: 'user', parts: [{ functionResponse }] };
    await expect(
      startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message }),
    ).rejects.toMatchObject({ code: 'failed_precondition' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: not paid');
    expect((await log()).at(-2)).toMatch(/^solo: gets {"status":"expired","error":"nobody answered before /);
    expect(paid).toBe(0);
  });
});

describe('an answer that races its deadline', () => {
  it('counts when it came in time, even if its run begins later', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      answerWithinMs: 400,
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('approved'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), {
      app: 'app',
      sweepMs: 50,
    });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [call] = await world.sessions.pending.list(ref);
    // Another run holds the session past the deadline.
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.leases.take(other, { run: '', whenBusy: 'reject' });
    const subject = client.subjects.operation('solo', call?.id ?? '', 'client');
    await client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId: 'in time' });
    await until(() => Date.now() > (call?.deadline ?? Number.POSITIVE_INFINITY) + 200);
    await world.sessions.invocations.end(other, { status: 'completed' });
    await startNext(client, ref);
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: approved');
    expect((await log()).at(-2)).toBe('user: gets {"ok":true}');
  });

  it('counts when it came in time, even if its agent could not get it at once', async () => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    const tool = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks a manager',
      answerWithinMs: 400,
      execute: () => ({ status: 'pending' }),
    });
    const model = new ScriptedLlm(calls('approve'), says('I asked'), says('approved'));
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), { app: 'app' });
    const { say, client, ref } = await world.chat('app');
    await say('go');
    const [call] = await world.sessions.pending.list(ref);
    const { enqueue } = mesh.bus;
    let failures = 0;
    mesh.bus.enqueue = async (...args) => {
      if (Date.now() < (call?.deadline ?? 0) && ++failures > 0)
        throw new MeshError('unavailable', 'NATS is away');
      return await enqueue.apply(mesh.bus, args);
    };
    const subject = client.subjects.operation('solo', call?.id ?? '', 'client');
    await client.bus.enqueue(subject, { final: true, response: { ok: true } }, { messageId: 'in time' });
    const log = async () => ((await world.sessions.getSession(ref))?.events ?? []).map(brief);
    await until(async () => (await log()).at(-1) === 'solo: approved');
    expect((await log()).at(-2)).toBe('user: gets {"ok":true}');
    expect(failures).toBe(1);
  });
});

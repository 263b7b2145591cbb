import { FunctionTool, LlmAgent } from '@agentmesh/agent';
import { type AnsweredBy, type Headers, header, MeshError } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { calls, memoryMesh, ScriptedLlm, says, untilWaiting } from '../harness.fixture.ts';
import { createCallers, memoryCallerKeys } from '../mesh/callers.ts';
import { startNext } from '../runs/run-queue.ts';
import { serveAgent } from '../serve/serve-agent.ts';

const eve: AnsweredBy = { by: 'eve', via: 'rest', service: 'gateway', roles: ['manager'] };
const unknown = { by: 'unknown', via: 'nats' };

/** Makes an agent that asks once, and the ways to answer by a run command. */
async function desk(options: { answerWithinMs?: number; waiting?: number } = {}) {
  const { waiting = 10, ...tool } = options;
  const world = memoryMesh({ limits: { running: () => 1, waiting: () => waiting } });
  const pay = new FunctionTool({
    ...{ name: 'pay', description: 'pays', requireConfirmation: true, ...tool },
    execute: () => ({ paid: true }),
  });
  const model = new ScriptedLlm(calls('pay'), says('paid'), says('and on'), says('and on'));
  const agent = new LlmAgent({ name: 'solo', model, tools: [pay] });
  await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
  const { client, ref, say } = await world.chat('app');
  await say('go');
  const [question] = await world.sessions.pending.list(ref);
  const functionResponse = {
    id: question?.id ?? '',
    name: question?.name ?? '',
    response: { confirmed: true },
  };
  const message = { role: 'user', parts: [{ functionResponse }] };
  const command = { app: 'app', user: 'u', session: ref.sessionId, message };
  return {
    ...{ world, client, ref, question, command },
    /** Publishes a run command as a program does. */
    async publish(more: object, headers: Headers = {}) {
      const subject = client.subjects.agentRun('solo', ref.sessionId);
      await client.bus.enqueue(
        subject,
        { ...command, ...more },
        { messageId: JSON.stringify(more), headers },
      );
      await until(() => world.hub.queued(client.subjects.workSubject('run', 'solo')) === 0);
    },
    sources: async () =>
      ((await world.sessions.getSession(ref))?.events ?? []).flatMap(
        ({ customMetadata }) => customMetadata?.answeredBy ?? [],
      ),
  };
}

describe('the source of an answer in a run command', () => {
  it('is kept while the run waits for its session', async () => {
    const { world, client, ref, command, sources } = await desk();
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.leases.take(other, { run: '', whenBusy: 'reject' });
    const run = await startRun(client, { ...command, answeredBy: eve });
    await untilWaiting(client, ref, run);
    await world.sessions.invocations.end(other, { status: 'completed' });
    await startNext(client, ref);
    await Array.fromAsync(run.events);
    expect(await sources()).toEqual([eve]);
  });

  it('is an unknown person without a signature, as from gateways of earlier versions', async () => {
    const { publish, sources } = await desk();
    await publish({ invocationId: 'e-1', answeredBy: eve });
    expect(await sources()).toEqual([unknown]);
  });

  it('is an unknown person with the signature of another run', async () => {
    const { publish, sources, client, ref, command } = await desk();
    const run = { ...ref, invocationId: 'e-2', message: command.message };
    const headers = await client.callers.signSource('gateway', run, eve);
    await publish({ invocationId: 'e-1' }, headers);
    expect(await sources()).toEqual([unknown]);
  });

  it('counts once: a copy of the signed command changes nothing', async () => {
    const { publish, sources, client, ref, command } = await desk();
    const run = { ...ref, invocationId: 'e-1', message: command.message };
    const headers = await client.callers.signSource('gateway', run, eve);
    expect(headers[header.answeredBy]).toBeDefined();
    await publish({ invocationId: 'e-1' }, headers);
    await publish({ invocationId: 'e-1', whenBusy: 'reject' }, headers);
    expect(await sources()).toEqual([eve]);
  });

  it('claims no answer in time after the deadline', async () => {
    const { publish, sources, question } = await desk({ answerWithinMs: 50 });
    await until(() => Date.now() > (question?.deadline ?? Number.POSITIVE_INFINITY));
    await publish({ invocationId: 'e-1', answeredBy: { by: 'eve', via: 'nats', service: 'client' } });
    await publish({ invocationId: 'e-2', answeredBy: { by: 'eve', via: 'job', service: 'tool_pay' } });
    expect(await sources()).toEqual([]);
  });

  it('is for no message without answers, so such a message waits as all others', async () => {
    const { publish, client, world, ref } = await desk({ waiting: 1 });
    const other = { ...ref, invocationId: 'e-other' };
    await world.sessions.leases.take(other, { run: '', whenBusy: 'reject' });
    const answeredBy = { by: 'eve', via: 'job', service: 'tool_pay' };
    await publish({ invocationId: 'e-1', message: 'one', answeredBy });
    await untilWaiting(client, ref, { invocationId: 'e-1' });
    await publish({ invocationId: 'e-2', message: 'two', answeredBy });
    const status = async (invocationId: string) =>
      (await world.sessions.invocations.get({ ...ref, invocationId })).error?.code;
    expect([await status('e-1'), await status('e-2')]).toEqual([undefined, 'resource_exhausted']);
  });
});

it('a service that may not store its key cannot say who answers', async () => {
  const { client, command, sources } = await desk();
  const put = async () => {
    throw new MeshError('permission_denied', "redis' access rules do not let this user do that");
  };
  const program = { ...client, callers: createCallers({ ...memoryCallerKeys(), put }) };
  await expect(startRun(program, { ...command, answeredBy: eve })).rejects.toMatchObject({
    code: 'permission_denied',
    message: expect.stringContaining('only a gateway may say who answers'),
  });
  const { events } = await startRun(program, command);
  await Array.fromAsync(events);
  expect(await sources()).toEqual([unknown]);
});

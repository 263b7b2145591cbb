import { setTimeout as delay } from 'node:timers/promises';
import { FunctionTool, LlmAgent, ParallelAgent } from '@agentmesh/agent';
import { header, MeshError } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { callService } from './call-service.ts';
import { remoteAgent } from './remote-agent.ts';

/** Makes a tool whose calls never end, and a function that calls it. */
async function calling() {
  const world = memoryMesh();
  let begun = 0;
  const mesh = await world.connect('tool_pay');
  const execute = () => {
    begun += 1;
    return new Promise(() => {});
  };
  await serveTool(mesh, new FunctionTool({ name: 'pay', description: 'pays', execute }), {
    maxConcurrency: 1,
  });
  const client = await world.connect('agent');
  const callee = {
    target: { to: 'tool', kind: 'tool' as const },
    subject: client.subjects.toolCall('pay'),
    isKnown: () => false,
    hasEffects: true,
  };
  return {
    begun: () => begun,
    kill: () => world.hub.kill(mesh.bus),
    call: (callId: string, headers: Record<string, string> = {}) =>
      Array.fromAsync(callService(client, callee, { callId, args: {} }, { headers, silenceMs: 1_500 })),
  };
}

describe('a call with effects', () => {
  it('that fails after its callee fell silent says that its outcome is unknown', async () => {
    const { begun, kill, call } = await calling();
    const failed = call('c');
    failed.catch(() => {});
    await until(() => begun() === 1);
    kill();
    await expect(failed).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/not known whether the call was carried out$/),
      details: { outcome: 'unknown' },
    });
  });

  it('that fails at its deadline says that its outcome is unknown', async () => {
    const { call } = await calling();
    await expect(call('c', { [header.deadline]: String(Date.now() + 100) })).rejects.toMatchObject({
      code: 'deadline_exceeded',
      details: { outcome: 'unknown' },
    });
  });

  it('that no callee has taken says so', async () => {
    const { begun, kill, call } = await calling();
    call('busy').catch(() => {});
    await until(() => begun() === 1);
    const refused = { code: 'resource_exhausted', message: expect.not.stringContaining('not known') };
    await expect(call('c')).rejects.toMatchObject(refused);
    kill();
    await expect(call('c')).rejects.toMatchObject({
      code: 'unavailable',
      details: { reason: 'no_responders' },
      message: expect.not.stringContaining('not known'),
    });
  });
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

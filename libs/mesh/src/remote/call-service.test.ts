import { FunctionTool } from '@agentmesh/agent';
import { header } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { callService } from './call-service.ts';

/** Makes a tool whose calls never end, and a function that calls it. */
async function calling() {
  const world = memoryMesh();
  let begun = 0;
  const mesh = await world.connect('tool_pay');
  const execute = () => {
    begun += 1;
    return new Promise(() => {});
  };
  await serveTool(mesh, new FunctionTool({ name: 'pay', description: 'pays', execute }), { maxInFlight: 1 });
  const client = await world.connect('agent');
  const callee = { subject: client.subjects.toolCall('pay'), isKnown: () => false, hasEffects: true };
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

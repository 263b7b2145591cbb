import { LlmAgent } from '@agentmesh/agent';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { type Headers, header } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { runHeader } from '../messages/run-header.ts';
import { serveAgent } from '../serve/serve-agent.ts';

/** Has a large command arrive whose payload is gone, at an agent whose run `e-1` has ended. */
async function arrive(headersOf: (ref: InvocationRef) => Headers): Promise<{ letters: number }> {
  const world = memoryMesh();
  const { client, ref } = await world.chat('app');
  const ended = { ...ref, invocationId: 'e-1' };
  await world.sessions.invocations.end(ended, { status: 'completed' });
  const command = { app: 'app', user: 'u', session: ref.sessionId, message: 'x'.repeat(2_000_000) };
  const subject = client.subjects.agentRun('solo', ref.sessionId);
  await client.bus.enqueue(subject, command, { messageId: 'again', headers: headersOf(ended) });
  const payloads = client.bus.objects(client.subjects.claimBucket('work'));
  const ids = await payloads.ids();
  expect(ids).toHaveLength(1);
  for (const id of ids) await payloads.delete(id);
  const model = new ScriptedLlm(() => says('hello'));
  await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), { app: 'app' });
  await until(async () => world.hub.queued('mesh.v1.agent.solo.run.*') === 0, { what: 'an empty queue' });
  return { letters: world.hub.queued('mesh.v1.dead.agent.solo') };
}

it('drops a command that arrives again after its run has ended and its payload was removed', async () => {
  expect(await arrive(runHeader)).toEqual({ letters: 0 });
});

it.each<[string, (ref: InvocationRef) => Headers]>([
  ['a run that has not ended', (ref) => runHeader({ ...ref, invocationId: 'e-other' })],
  ['no run', () => ({})],
  ['no names', () => ({ [header.run]: '-zz.' })],
])('keeps a command without a payload whose header names %s', async (_what, headersOf) => {
  expect(await arrive(headersOf)).toEqual({ letters: 1 });
});

import { LlmAgent } from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { expect, it } from 'vitest';
import { brief, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { startRun } from './start-run.ts';

it('a run whose command is lost is published again when a client follows it', async () => {
  const world = memoryMesh();
  const begun = Promise.withResolvers<void>();
  const serve = async (model: ScriptedLlm) => {
    const mesh: Mesh = await world.connect('agent_solo');
    const sessions = overrideSessions(mesh.sessions, {
      leases: { take: (ref, options) => mesh.sessions.leases.take(ref, { ...options, leaseMs: 20 }) },
    });
    await serveAgent({ ...mesh, sessions }, new LlmAgent({ name: 'solo', model }), { app: 'app' });
    return mesh;
  };
  const hanging = new ScriptedLlm();
  hanging.generateContentAsync = async function* () {
    begun.resolve();
    await new Promise(() => {});
  };
  const lost = await serve(hanging);
  const { client, ref } = await world.chat('app');
  const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
  const events = Array.fromAsync(run.events);
  await begun.promise;
  world.hub.kill(lost.bus);
  world.hub.remove('mesh.v1.agent.solo.run.*');
  await serve(new ScriptedLlm(says('done')));
  expect((await events).map(brief)).toEqual(['solo: done']);
  expect(await run.end).toMatchObject({ status: 'completed' });
  expect(world.lines.filter((line) => line.includes('gave no sign of life'))).toHaveLength(1);
}, 30_000);

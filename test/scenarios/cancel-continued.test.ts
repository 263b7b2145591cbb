import { App } from '@agentmesh/agent';
import { MeshClient } from '@agentmesh/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { clerk } from './wrong-answers/clerk/src/agent.ts';

const app = 'clerk_app';
const service = {
  manifest: agentManifest(new App({ name: app, rootAgent: clerk })),
  folder: 'test/scenarios/wrong-answers/clerk',
};

let model: ScriptedGemini;
let mesh: LocalMesh;
beforeAll(async () => {
  vi.stubEnv('MESH_WHEN_ABSENT', 'enqueue');
  model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).some(({ response }) => response && 'granted' in response)
        ? { text: 'granted' }
        : { calls: [{ name: 'time_off', args: { days: 5 } }] },
  });
  mesh = await launchMesh({
    services: [service],
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
}, 60_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

it('a run that continues an invocation is cancelled before a replica has taken it, and its question stays', async () => {
  const client = new MeshClient({ url: mesh.gatewayUrl });
  const session = await client.createSession({ app, user: 'ann' });
  await (await client.run(session, 'I need time off')).rest();
  const [question] = await client.pending(session);
  if (!question) return expect.fail('nothing was asked');
  const { id, name, invocationId } = question;
  const answer = (days: number) => {
    const response = { confirmed: true, payload: { approved_days: days } };
    const message = { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
    return client.run(session, message, { invocationId });
  };
  await Promise.all(mesh.processes.map((each) => each.stop()));
  const run = await answer(1);
  expect(run.resume).toMatch(/^r-/);
  const ended = run.rest().catch((error: unknown) => error);
  expect(await run.cancel({ reason: 'too few' })).toMatchObject({
    ...{ status: 'failed', resume: run.resume, error: { code: 'cancelled', message: 'too few' } },
  });
  expect(await ended).toMatchObject({ code: 'cancelled', message: 'too few' });
  // The invocation is as it was before, and its question can be answered.
  expect((await client.pending(session)).map((each) => each.id)).toEqual([id]);
  const second = await answer(4);
  await mesh.start(service);
  const events = await second.rest();
  expect(JSON.stringify(events)).toContain('"approved_days":4');
  const log = await client.events(session);
  expect(JSON.stringify(log.events)).not.toContain('"approved_days":1');
  expect(log.events.filter(({ event }) => event.errorCode)).toEqual([]);
}, 60_000);

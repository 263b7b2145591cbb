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
/** The model never answers a message that says `hold` before the tests are over. */
const held = Promise.withResolvers<void>();
beforeAll(async () => {
  vi.stubEnv('MESH_WHEN_ABSENT', 'enqueue');
  model = await startScriptedGemini({
    script: async (request) => {
      if (JSON.stringify(request.contents?.at(-1)).includes('hold')) await held.promise;
      return latestFunctionResponses(request).some(({ response }) => response && 'granted' in response)
        ? { text: 'granted' }
        : { calls: [{ name: 'time_off', args: { days: 5 } }] };
    },
  });
  mesh = await launchMesh({
    services: [service],
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
}, 60_000);
afterAll(async () => {
  held.resolve();
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

it('a new run of a session is listed by its own status, also after a cancelled one', async () => {
  const client = new MeshClient({ url: mesh.gatewayUrl });
  const session = await client.createSession({ app, user: 'eve' });
  const list = async () => {
    const answer = await fetch(`${mesh.gatewayUrl}/mesh/runs?app=${app}&user=eve`);
    const { runs } = (await answer.json()) as { runs: { invocationId: string; status: string }[] };
    return runs.map(({ invocationId, status }) => [invocationId, status]);
  };
  const first = await client.run(session, 'hold');
  await expect.poll(list).toEqual([[first.invocationId, 'running']]);
  const second = await client.run(session, 'I need time off');
  await expect.poll(list).toContainEqual([second.invocationId, 'waiting']);
  expect(await first.cancel({ reason: 'enough' })).toMatchObject({ cancelled: 'enough' });
  await expect(first.rest()).rejects.toMatchObject({ code: 'cancelled', message: 'enough' });
  await second.rest();
  expect(await list()).toEqual([
    [second.invocationId, 'completed'],
    [first.invocationId, 'cancelled'],
  ]);
  for (const { invocationId } of [first, second])
    expect(await list()).toContainEqual([
      invocationId,
      (await client.invocation(session, invocationId)).status,
    ]);
}, 60_000);

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
    ...{ status: 'cancelled', resume: run.resume, error: { code: 'cancelled', message: 'too few' } },
  });
  expect(await ended).toMatchObject({ code: 'cancelled', message: 'too few' });
  // The invocation is as it was before, and its question can be answered.
  expect((await client.pending(session)).map((each) => each.id)).toEqual([id]);
  const second = await answer(4);
  await mesh.start(service);
  const events = await second.rest();
  // The cancelled run leaves nothing on the run that continued after it.
  const { runs } = (await (await fetch(`${mesh.gatewayUrl}/mesh/runs?app=${app}&user=ann`)).json()) as {
    runs: object[];
  };
  const state = { invocationId, status: 'completed' };
  expect(runs).toMatchObject([state]);
  expect(runs[0]).not.toHaveProperty('cancelled');
  expect(await client.invocation(session, invocationId)).toMatchObject({ ...state, resume: second.resume });
  expect(JSON.stringify(events)).toContain('"approved_days":4');
  const log = await client.events(session);
  expect(JSON.stringify(log.events)).not.toContain('"approved_days":1');
  expect(log.events.filter(({ event }) => event.errorCode)).toEqual([]);
}, 60_000);

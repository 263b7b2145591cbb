import { MeshClient, MeshClientError } from '@agentmesh/client';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const stock = samples.filter(({ manifest }) => manifest.name === 'stock_agent');

let mesh: LocalMesh;
beforeAll(async () => {
  vi.stubEnv('MESH_WHEN_ABSENT', 'enqueue');
  mesh = await launchMesh({ services: stock, model: 'scripted' });
}, 60_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
});

it('a run that no replica has taken is cancelled at once, and never begins', async () => {
  const client = new MeshClient({ url: mesh.gatewayUrl });
  const session = await client.createSession({ app: 'stock_app', user: 'ann' });
  await Promise.all(mesh.processes.map((each) => each.stop()));
  const run = await client.run(session, 'Price of GOOG?');
  const kept = await client.run(session, 'Price of MSFT?');
  const ended = run.rest().catch((error: unknown) => error);
  const other = await mesh.start('gateway');
  const elsewhere = new MeshClient({ url: other.address ?? '' });
  expect(await elsewhere.cancel(session, run.invocationId, { reason: 'too slow' })).toMatchObject({
    ...{ status: 'cancelled', error: { code: 'cancelled', message: 'too slow' }, lastSeq: 0 },
  });
  const error = await ended;
  expect(error).toBeInstanceOf(MeshClientError);
  expect(error).toMatchObject({ code: 'cancelled', message: 'too slow' });
  await expect(elsewhere.cancel(session, 'no-such-run')).rejects.toMatchObject({ status: 404 });
  await other.stop();
  for (const sample of stock) await mesh.start(sample);
  expect((await kept.rest()).length).toBe(3);
  const { events } = await client.events(session);
  expect(new Set(events.map(({ event }) => event.invocationId))).toEqual(new Set([kept.invocationId]));
  // A second time changes nothing.
  const state = { status: 'cancelled', cancelled: 'too slow' };
  expect(await client.cancel(session, run.invocationId)).toMatchObject(state);
  const listed = async () => {
    const answer = await fetch(`${mesh.gatewayUrl}/mesh/runs`);
    const { runs } = (await answer.json()) as { runs: { invocationId: string }[] };
    return runs.find(({ invocationId }) => invocationId === run.invocationId);
  };
  expect(await until(listed, { what: 'the run in the list' })).toMatchObject(state);
}, 60_000);

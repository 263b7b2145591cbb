import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { connectRedisStore } from '@agentmesh/store';
import { latestUserText, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const [stock] = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
if (!stock) throw new Error('the stock sample is gone');

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
let gate = Promise.withResolvers<void>();

beforeAll(async () => {
  // Messages with `hold` wait for the gate.
  model = await startScriptedGemini({
    script: async (request) => {
      const text = latestUserText(request);
      if (text.startsWith('hold')) await gate.promise;
      return { text: `re: ${text}` };
    },
  });
  mesh = await launchMesh({
    services: [stock],
    env: {
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: 'scripted',
      MESH_MAX_CONCURRENCY: '4',
      MESH_RUNS_PER_USER: '2',
      MESH_WAITING_RUNS_PER_USER: 'stock_app=5,*=1000',
    },
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Waits until so many requests to the model are open or answered, and so many runs of the user wait. */
async function untilAtWork(requests: number, waiting: number): Promise<void> {
  await using store = await connectRedisStore({ url: mesh.redisUrl });
  const { leases } = store.sessions;
  const isSo = async () =>
    model.requests.length === requests &&
    (await leases.countWaiting({ appName: 'stock_app', userId: 'u1' })) === waiting;
  await until(isSo, { what: `${requests} requests to the model, and ${waiting} waiting runs` });
}

/** Runs a message of the first user in a new session. */
async function run(text: string): Promise<Response> {
  return await client.run('stock_app', await client.createSession('stock_app'), text);
}

it('one user’s runs beyond the share wait, others are answered, and too many are refused', async () => {
  const held = Array.from({ length: 7 }, (_, n) => run(`hold ${n}`));
  await untilAtWork(2, 5);
  const refused = await run('one more');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(await refused.json()).toMatchObject({
    code: 'resource_exhausted',
    error: expect.stringContaining('user u1 has 5 runs that wait in app stock_app'),
  });
  const session = await client.createSession('stock_app', 'u2');
  const events = await client.events('stock_app', session, 'hi', { userId: 'u2' });
  expect(lastText(events)).toBe('re: hi');
  gate.resolve();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
  expect((await run('one more')).status).toBe(200);
});

it('the runs that wait begin after all replicas were killed', async () => {
  const before = model.requests.length;
  gate = Promise.withResolvers();
  const held = Array.from({ length: 6 }, (_, n) => run(`hold again ${n}`));
  await untilAtWork(before + 2, 4);
  for (const replica of mesh.processes) await replica.kill();
  await mesh.start(stock);
  gate.resolve();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
  await untilAtWork(before + 8, 0);
}, 60_000);

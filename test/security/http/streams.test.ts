import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restClient } from '../../rest-client.ts';

const app = 'stock_app';
const counts = { runs: 20, streams: 2_000 };
const answer = Promise.withResolvers<void>();

let model: ScriptedGemini;
let mesh: LocalMesh;
beforeAll(async () => {
  model = await startScriptedGemini({
    script: async (request) => {
      if (latestFunctionResponses(request).length === 0)
        return { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
      await answer.promise;
      return { chunks: Array.from({ length: 20 }, (_, at) => `word ${at} `), chunkDelayMs: 20 };
    },
  });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted', MESH_MAX_CONCURRENCY: '20' },
  });
});
afterAll(async () => {
  answer.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

const memoryMiB = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${mesh.gateway.pid}/status`, 'utf8'))?.[1]) / 1_024;

/** Follows a run on a connection of its own. Returns the text of the stream, and when it has begun. */
function follow(agent: Agent, path: string) {
  const began = Promise.withResolvers<void>();
  const text = new Promise<string>((resolve, reject) => {
    get(`${mesh.gatewayUrl}${path}`, { agent }, (response) => {
      let got = '';
      response.on('data', (data) => {
        got += data;
        began.resolve();
      });
      response.on('end', () => resolve(got));
      response.on('error', reject);
    }).on('error', reject);
  });
  return { began: began.promise, text };
}

it('2,000 open streams get every event once, and the gateway stays below 512 MiB', async () => {
  const client = restClient(mesh.gatewayUrl);
  const runs = await Promise.all(
    Array.from({ length: counts.runs }, async (_, at) => {
      // A user has a share of eight runs.
      const userId = `user-${at}`;
      const session = await client.createSession(app, userId);
      const path = `/apps/${app}/users/${userId}/sessions/${session}`;
      const running = client.run(app, session, 'GOOG?', { userId });
      const events = async () =>
        ((await (await client.send('GET', path)).json()) as { events: { invocationId: string }[] }).events;
      await until(async () => (await events()).length === 3, { what: 'the run to wait for its model' });
      return { path: `${path}/invocations/${(await events())[0]?.invocationId}/events`, running };
    }),
  );
  const agent = new Agent({ keepAlive: false });
  let most = memoryMiB();
  const watch = setInterval(() => {
    most = Math.max(most, memoryMiB());
  }, 50);
  const streams = Array.from({ length: counts.streams }, (_, at) =>
    follow(agent, runs[at % counts.runs]?.path ?? ''),
  );
  await Promise.all(streams.map(({ began }) => began));
  expect((await client.send('GET', '/list-apps')).status).toBe(200);
  answer.resolve();
  const texts = await Promise.all(streams.map(({ text }) => text));
  clearInterval(watch);
  agent.destroy();
  for (const { running } of runs) expect((await running).status).toBe(200);
  // The message itself is not sent back.
  const ids = texts.map((text) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)));
  expect(new Set(ids.map(String))).toEqual(new Set(['2,3,4']));
  expect(most).toBeLessThan(512);
}, 120_000);

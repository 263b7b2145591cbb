import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type Event, replicaKey } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const [stock] = samples.filter(({ manifest }) => manifest.name === 'stock_agent');
if (!stock) throw new Error('the stock sample is gone');

let model: ScriptedGemini;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  // A slow model, so that there are always requests in work.
  model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length > 0
        ? { text: 'done', delayMs: 20 }
        : { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }], delayMs: 20 },
  });
  mesh = await launchMesh({
    services: [stock],
    env: {
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: 'scripted',
      MESH_MAX_CONCURRENCY: '32',
      MESH_RUNS_PER_USER: '64',
    },
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/** Runs `count` requests, `width` at a time, each in a session of its own. */
async function load(count: number, width: number): Promise<Map<string, Event[]>> {
  const results = new Map<string, Event[]>();
  let started = 0;
  const worker = async () => {
    while (started < count) {
      started += 1;
      const session = await client.createSession('stock_app');
      results.set(session, await client.events('stock_app', session, 'GOOG?'));
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

const replicasOf = (results: Map<string, Event[]>) =>
  new Set([...results.values()].flat().map(({ customMetadata }) => customMetadata?.[replicaKey]));

describe('replicas of an agent', () => {
  it('answer 1,000 requests, 64 at a time, without an error; the logs hold exactly what the clients got', async () => {
    const results = await load(1_000, 64);
    expect(results.size).toBe(1_000);
    await using store = await connectRedisStore({ url: mesh.redisUrl });
    for (const [sessionId, events] of results) {
      const stored = await store.sessions.log.readEvents({ appName: 'stock_app', userId: 'u1', sessionId });
      expect(stored.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
      expect(stored.map(({ event }) => event).filter(({ author }) => author !== 'user')).toEqual(events);
    }
  }, 120_000);

  it('share the load, and lose nothing when one of them gets SIGTERM', async () => {
    const second = await mesh.start(stock);
    const both = await load(200, 64);
    expect(replicasOf(both).size).toBe(2);
    const going = load(400, 64);
    const code = await second.stop();
    expect(code).toBe(0);
    const results = await going;
    expect(results.size).toBe(400);
    for (const events of results.values()) {
      expect(events).toHaveLength(3);
      expect(lastText(events)).toBe('done');
    }
  }, 120_000);
});

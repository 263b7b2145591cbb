import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type Event, keys } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import {
  latestFunctionResponses,
  makeCertificate,
  startRedisCluster,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const weather = samples.filter(({ manifest }) => manifest.name.includes('weather'));

it('runs end once on a cluster with TLS when the node with their sessions is killed', async () => {
  await using model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length > 0
        ? { text: 'done', delayMs: 30 }
        : { calls: [{ name: 'get_weather', args: { city: 'Oslo' } }], delayMs: 30 },
  });
  await using owners = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'agentmesh-redis-cluster-'));
  owners.defer(() => rmSync(dir, { recursive: true, force: true }));
  const tls = makeCertificate(dir);
  const cluster = owners.use(await startRedisCluster({ tls }));
  const mesh = owners.use(
    await launchMesh({
      services: weather,
      redisUrl: cluster.url,
      ackWaitMs: 2_000,
      env: {
        GOOGLE_GEMINI_BASE_URL: model.url,
        GEMINI_API_KEY: 'scripted',
        MESH_REDIS_CA_FILE: tls.certFile,
        MESH_REDIS_WAIT_REPLICAS: '1',
      },
    }),
  );
  for (const sample of weather) await mesh.start(sample);
  const client = restClient(mesh.gatewayUrl);
  const got = new Map<string, Event[]>();
  let refused = 0;
  const worker = async () => {
    for (let n = 0; n < 8; n += 1) {
      const session = await until(() => client.createSession('weather_app'), { timeoutMs: 30_000 });
      const response = await client.run('weather_app', session, 'Oslo?');
      // While the slot has no primary a run may be refused. An accepted run must end.
      if (response.ok) got.set(session, (await response.json()) as Event[]);
      else refused += 1;
    }
  };
  const working = Promise.all(Array.from({ length: 8 }, worker));
  await until(() => got.size > 16, { timeoutMs: 30_000 });
  const key = keys().user('weather_app', 'u1');
  const before = await cluster.primaryOf(key);
  await before.kill();
  await until(async () => (await cluster.primaryOf(key)).port !== before.port, { timeoutMs: 30_000 });
  await before.start();
  await working;

  await using store = await connectRedisStore({ url: cluster.url, caFile: tls.certFile });
  for (const [sessionId, events] of got) {
    const stored = await store.sessions.log.readEvents({ appName: 'weather_app', userId: 'u1', sessionId });
    const kinds = stored.map(({ event }) => Object.keys(event.content?.parts?.[0] ?? {})[0]);
    expect(kinds, sessionId).toEqual(['text', 'functionCall', 'functionResponse', 'text']);
    expect(stored.slice(1).map(({ event }) => event)).toEqual(events);
    expect(lastText(events)).toBe('done');
  }
  expect(got.size + refused).toBe(64);
  expect(got.size).toBeGreaterThan(40);
}, 120_000);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { Event } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { latestFunctionResponses, startNats, startScriptedGemini } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const weather = samples.filter(({ manifest }) => manifest.name.includes('weather'));

it('runs end once when NATS is killed and comes back, and their clients get all events', async () => {
  await using model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length > 0
        ? { text: 'done', delayMs: 30 }
        : { calls: [{ name: 'get_weather', args: { city: 'Oslo' } }], delayMs: 30 },
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-nats-restart-'));
  let nats = await startNats({ dataDir });
  const { port } = nats;
  const mesh = await launchMesh({
    services: weather,
    natsUrl: nats.url,
    ackWaitMs: 2_000,
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
  for (const sample of weather) await mesh.start(sample);
  const client = restClient(mesh.gatewayUrl);
  const got = new Map<string, Event[]>();
  let refused = 0;
  let started = 0;
  const worker = async () => {
    while (started < 200) {
      started += 1;
      const session = await client.createSession('weather_app');
      const response = await client.run('weather_app', session, 'Oslo?');
      // While NATS is away a run may be refused. An accepted run must end.
      if (response.ok) got.set(session, (await response.json()) as Event[]);
      else refused += 1;
    }
  };
  const workers = Promise.all(Array.from({ length: 16 }, worker));
  for (const at of [40, 90, 140]) {
    while (got.size + refused < at) await delay(20);
    await nats.kill();
    nats = await startNats({ dataDir, port });
  }
  await workers;
  await using store = await connectRedisStore({ url: mesh.redisUrl });
  for (const [sessionId, events] of got) {
    const stored = await store.sessions.log.readEvents({ appName: 'weather_app', userId: 'u1', sessionId });
    const kinds = stored.map(({ event }) => Object.keys(event.content?.parts?.[0] ?? {})[0]);
    expect(kinds, sessionId).toEqual(['text', 'functionCall', 'functionResponse', 'text']);
    expect(stored.slice(1).map(({ event }) => event)).toEqual(events);
    expect(lastText(events)).toBe('done');
    expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toMatchObject({ status: 'success' });
  }
  expect(got.size).toBeGreaterThan(150);
  await mesh[Symbol.asyncDispose]();
  await nats.stop();
  rmSync(dataDir, { recursive: true, force: true });
}, 120_000);

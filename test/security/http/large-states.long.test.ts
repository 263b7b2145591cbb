import { setTimeout as delay } from 'node:timers/promises';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restClient } from '../../rest-client.ts';
import { watchMemory } from './gateway-memory.fixture.ts';

const app = 'stock_app';
const size = 9_000_000;
const count = 44;

let model: ScriptedGemini;
let mesh: LocalMesh;
const gate = Promise.withResolvers<void>();
beforeAll(async () => {
  model = await startScriptedGemini({
    script: async () => {
      await gate.promise;
      return { text: 'Done.' };
    },
  });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });
}, 60_000);
afterAll(async () => {
  gate.resolve();
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
});

/**
 * Reads the frames of a stream until `isLast`. Returns their types, the length of the state in the snapshots, and the
 * message of an error.
 */
async function readFrames(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isLast: (type: string) => boolean,
) {
  const types: string[] = [];
  let parts: Uint8Array[] = [];
  let length = 0;
  let error: string | undefined;
  while (!types.some(isLast)) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    if (value.at(-1) !== 0x0a) continue;
    const text = Buffer.concat(parts).toString();
    if (!text.endsWith('\n\n')) continue;
    parts = [];
    // A comment keeps the connection open.
    for (const block of text.split('\n\n').filter((each) => each.startsWith('data: '))) {
      const { type, snapshot, message } = JSON.parse(block.slice('data: '.length));
      types.push(type);
      if (type === 'RUN_ERROR') error = message;
      if (type === 'STATE_SNAPSHOT') length += snapshot.large.length;
    }
  }
  return { types, length, error };
}

/** 429: there is no room for the answer; 503: on a busy machine Redis is slow with such answers. */
const passing = [429, 503];

/** Starts a run, or comes back to it with its key, until the snapshot of the state has come. */
async function openStream(url: string, user: string, threadId: string) {
  for (;;) {
    const response = await fetch(`${url}/apps/${app}/users/${user}/ag-ui`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': threadId },
      body: JSON.stringify({
        ...{ threadId, runId: 'r', tools: [], context: [] },
        messages: [{ id: 'm', role: 'user', content: 'GOOG?' }],
      }),
    });
    if (response.status !== 200) {
      expect(passing).toContain(response.status);
      await response.body?.cancel();
      await delay(Number(response.headers.get('retry-after') ?? 1) * 1_000);
      continue;
    }
    const reader = response.body?.getReader() ?? expect.fail();
    const { length } = await readFrames(reader, (type) => ['STATE_SNAPSHOT', 'RUN_ERROR'].includes(type));
    if (length > 0) return { reader, length };
    await reader.cancel();
  }
}

it(`${count} streams of AG-UI of sessions with a state of 9 MB are open at once, in bounded memory`, async () => {
  const maker = restClient(mesh.gatewayUrl);
  const users = Array.from({ length: count }, (_, at) => `user-${at}`);
  const sessions: string[] = [];
  for (const user of users) sessions.push(await maker.createSession(app, user, { large: 'x'.repeat(size) }));
  // The memory that the making of the sessions has used must not count.
  const gateway = await mesh.start('gateway');
  const most = watchMemory(gateway.pid);
  const url = gateway.address ?? '';
  const streams = await Promise.all(users.map((user, at) => openStream(url, user, sessions[at] ?? '')));
  expect(streams.map(({ length }) => length)).toEqual(Array(count).fill(size));
  gate.resolve();
  const isEnd = (type: string) => type.startsWith('RUN_');
  const ends = await Promise.all(streams.map(({ reader }) => readFrames(reader, isEnd)));
  for (const { types, length, error } of ends)
    expect([types.at(-1), length, error]).toEqual(['RUN_FINISHED', 0, undefined]);
  expect(most()).toBeLessThan(512);
  for (const user of users) await maker.send('DELETE', `/apps/${app}/users/${user}`);
}, 180_000);

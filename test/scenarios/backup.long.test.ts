import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import type { Event } from '@agentmesh/protocol';
import {
  latestFunctionResponses,
  type ScriptedGemini,
  startRedis,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

const app = 'stock_app';
const services = samples.filter(({ manifest }) => manifest.name === 'stock_agent');

let model: ScriptedGemini;
/** Whether the model holds back its answer. */
let hold = false;
beforeAll(async () => {
  model = await startScriptedGemini({
    script: (request) => {
      if (hold) return { hang: true };
      const asked = latestFunctionResponses(request).length > 0;
      return asked ? { text: 'done' } : { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] };
    },
  });
});
afterAll(() => model?.close());

const launch = (dataDir: string) =>
  launchMesh({
    ...{ services, dataDir, ackWaitMs: 1_000 },
    env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
  });

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agentmesh-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Has Redis write a backup while it serves, into its own folder. */
async function backUp(mesh: LocalMesh): Promise<void> {
  const redis = new Redis(mesh.redisUrl);
  try {
    await redis.bgsave();
    await until(async () => /rdb_bgsave_in_progress:0/.test(await redis.info('persistence')), {
      what: 'the backup',
    });
  } finally {
    redis.disconnect();
  }
}

/** Makes the append-only file of a new Redis from a backup in its folder. */
async function restore(folder: string): Promise<void> {
  // With an append-only file from the start, Redis would begin empty and leave the backup aside.
  await using server = await startRedis({ dataDir: folder });
  const redis = new Redis(server.url);
  try {
    await redis.config('SET', 'appendonly', 'yes');
    const isDone = /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/;
    await until(async () => isDone.test(await redis.info('persistence')), { what: 'the append-only file' });
  } finally {
    redis.disconnect();
  }
}

async function logOf(mesh: LocalMesh, session: string): Promise<Event[]> {
  const response = await restClient(mesh.gatewayUrl).send('GET', `/apps/${app}/users/u1/sessions/${session}`);
  return ((await response.json()) as { events: Event[] }).events;
}

it('a mesh with a backup of Redis and an empty NATS has its sessions, and goes on with them', async () => {
  const before = newFolder();
  const first = await launch(before);
  const client = restClient(first.gatewayUrl);
  const quiet = await client.createSession(app);
  const busy = await client.createSession(app);
  expect(lastText(await client.events(app, quiet, 'GOOG?'))).toBe('done');
  hold = true;
  const lost = client.run(app, busy, 'GOOG?').catch(() => undefined);
  await until(async () => (await logOf(first, busy)).length > 0, { what: 'the run at work' });
  await backUp(first);
  const kept = await logOf(first, quiet);
  await Promise.all([first.gateway, ...first.processes].map((service) => service.kill()));
  await first[Symbol.asyncDispose]();
  await lost;
  hold = false;

  const folder = newFolder();
  mkdirSync(join(folder, 'redis'));
  cpSync(join(before, 'redis/dump.rdb'), join(folder, 'redis/dump.rdb'));
  await restore(join(folder, 'redis'));
  await using second = await launch(folder);
  expect(await logOf(second, quiet)).toEqual(kept);
  const again = restClient(second.gatewayUrl);
  expect(lastText(await again.events(app, quiet, 'GOOG again?'))).toBe('done');
  // The message of the run that was at work was in NATS alone. Its session shows that it was begun, so it is continued.
  expect(lastText(await again.events(app, busy, 'And now?'))).toBe('done');
  const log = await logOf(second, busy);
  expect(log.map(({ content }) => Object.keys(content?.parts?.[0] ?? {})[0])).toEqual([
    ...['text', 'functionCall', 'functionResponse', 'text'],
    ...['text', 'functionCall', 'functionResponse', 'text'],
  ]);
}, 120_000);

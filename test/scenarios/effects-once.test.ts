import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, connectNats, provision } from '@agentmesh/bus';
import { MeshError, subjects, toolResultSchema } from '@agentmesh/protocol';
import {
  endProcess,
  pauseProcess,
  type RestartableServer,
  spawnGuarded,
  startNats,
  startRedis,
  startRestartable,
  until,
} from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const names = subjects();
const main = join(import.meta.dirname, 'effects/src/main.ts');
/** Longer than the lease of a call, and than a try to store a result; see `effects/src/main.ts`. */
const outageMs = 1_500;

let nats: RestartableServer;
let redis: RestartableServer;
let bus: Bus;
let admin: Redis;
const folder = mkdtempSync(join(tmpdir(), 'agentmesh-effects-'));
const effectsFile = join(folder, 'effects');
const replicas: ReturnType<typeof spawnGuarded>[] = [];

beforeAll(async () => {
  nats = await startRestartable(startNats);
  redis = await startRestartable((place) => startRedis({ ...place, appendOnly: true }));
  admin = new Redis(redis.url);
  admin.on('error', () => {});
  await provision({ url: nats.url, agents: [], tools: ['export'], ackWaitMs: 1_000 });
  bus = await connectNats({ url: nats.url, service: 'client' });
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((each) => endProcess(each, 'SIGKILL')));
});
afterAll(async () => {
  admin?.disconnect();
  await bus?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a replica of the tools. Resolves when it serves. */
async function serve(): Promise<void> {
  const child = spawnGuarded([process.execPath, main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NATS_URL: nats.url, REDIS_URL: redis.url, EFFECTS_FILE: effectsFile },
  });
  replicas.push(child);
  const ready = Promise.withResolvers<void>();
  child.stdout?.once('data', () => ready.resolve());
  child.once('exit', () => ready.reject(new Error('a replica ended before it served')));
  await ready.promise;
}

/** Returns the processes that carried the call out. */
function effectsOf(callId: string): number[] {
  const lines = readFileSync(effectsFile, { encoding: 'utf8', flag: 'a+' }).split('\n');
  return lines.filter((line) => line.startsWith(`${callId} `)).map((line) => Number(line.split(' ')[1]));
}

/** Makes a call as an agent does: a callee that is silent or fails is asked again, under the same id. */
async function callUntilAnswered(tool: string, callId: string): Promise<unknown> {
  for (;;) {
    try {
      const request = bus.request(names.toolCall(tool), { callId, args: {} }, { silenceMs: 1_200 });
      for await (const frame of request)
        if (frame.type === 'result') return toolResultSchema.parse(frame.data).response;
    } catch (error) {
      if (!MeshError.from(error).retryable) throw error;
    }
  }
}

async function restart(...servers: RestartableServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()));
  await delay(outageMs);
  await Promise.all(servers.map((server) => server.start()));
}

/** The ways in which servers fail for a while. */
const outages: Record<string, () => Promise<void>> = {
  'Redis is killed': () => restart(redis),
  'NATS is killed': () => restart(nats),
  'both servers are killed': () => restart(redis, nats),
  async 'Redis is full'() {
    await admin.config('SET', 'maxmemory', '1');
    await delay(outageMs);
    await admin.config('SET', 'maxmemory', '0');
  },
};

describe.each(['pay', 'export'])('a call of the tool %s is carried out once', (tool) => {
  it.each(Object.keys(outages))('when %s between the effect and the result', async (outage) => {
    await Promise.all([serve(), serve()]);
    const callId = randomUUID();
    const answer = callUntilAnswered(tool, callId);
    await until(() => effectsOf(callId).length === 1);
    await outages[outage]?.();
    const [pid] = effectsOf(callId);
    expect(await answer).toMatchObject({ by: pid });
    expect(effectsOf(callId)).toHaveLength(1);
  });

  it('when its process is paused between the effect and the result', async () => {
    await Promise.all([serve(), serve()]);
    const callId = randomUUID();
    const answer = callUntilAnswered(tool, callId);
    const [pid = 0] = await until(() => effectsOf(callId).length === 1 && effectsOf(callId));
    const repeats: Promise<unknown>[] = [];
    {
      using _paused = pauseProcess(pid);
      // At least one of the repeats comes to the other replica, which asks whether the paused one is gone.
      repeats.push(...Array.from({ length: 8 }, () => callUntilAnswered(tool, callId)));
      await delay(3_000);
    }
    for (const each of [answer, ...repeats]) expect(await each).toMatchObject({ by: pid });
    expect(effectsOf(callId)).toEqual([pid]);
  });

  it('again only when its process has died between the effect and the result', async () => {
    await Promise.all([serve(), serve()]);
    const callId = randomUUID();
    const answer = callUntilAnswered(tool, callId);
    const [pid = 0] = await until(() => effectsOf(callId).length === 1 && effectsOf(callId));
    process.kill(pid, 'SIGKILL');
    const response = (await answer) as { by: number };
    expect(response.by).not.toBe(pid);
    expect(effectsOf(callId)).toEqual([pid, response.by]);
  });
});

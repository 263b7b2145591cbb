import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Gemini, LlmAgent } from '@agentmesh/agent';
import { type Bus, connectNats, provision } from '@agentmesh/bus';
import { connectMesh, remoteTool, serveAgent, startRun } from '@agentmesh/mesh';
import { MeshError, subjects, toolResultSchema } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import {
  endProcess,
  latestFunctionResponses,
  pauseProcess,
  type RestartableServer,
  spawnGuarded,
  startNats,
  startRedis,
  startRestartable,
  startScriptedGemini,
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
  await provision({ url: nats.url, agents: ['payer'], tools: ['export'], ackWaitMs: 1_000 });
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

/** Starts an agent that calls a tool once, and tells what the tool answered. */
async function startPayer(tool: string) {
  await using owners = new AsyncDisposableStack();
  const model = owners.use(
    await startScriptedGemini({
      script: (request) =>
        latestFunctionResponses(request).length === 0
          ? { calls: [{ name: tool, args: {} }] }
          : { text: 'done' },
    }),
  );
  const log = createLogger({
    service: 'payer',
    replica: 'payer',
    level: 'silent',
    destination: process.stderr,
  });
  const mesh = owners.use(
    await connectMesh({ service: 'agent_payer', natsUrl: nats.url, redisUrl: redis.url, log }),
  );
  const agent = new LlmAgent({
    name: 'payer',
    model: new Gemini({ apiKey: 'scripted', baseUrl: model.url }),
    tools: [remoteTool(tool)],
  });
  await serveAgent(mesh, agent, { app: 'pay_app' });
  const all = owners.move();
  return {
    [Symbol.asyncDispose]: () => all.disposeAsync(),
    async pay() {
      const { id } = await mesh.sessions.createSession({ appName: 'pay_app', userId: 'u' });
      const run = await startRun(mesh, { app: 'pay_app', user: 'u', session: id, message: 'pay' });
      const events = await Array.fromAsync(run.events);
      const responses = events.flatMap(({ content }) => content?.parts ?? []);
      const response = responses.find((part) => part.functionResponse)?.functionResponse;
      return { callId: response?.id ?? '', answer: response?.response };
    },
  };
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

  it('or never, when its caller has given it up before its process began it', async () => {
    await serve();
    const [replica] = replicas;
    const payer = await startPayer(tool);
    const { callId, answer } = await (async () => {
      using _paused = pauseProcess(replica?.pid ?? expect.fail());
      return await payer.pay();
    })();
    expect(answer).toMatchObject({ error: expect.stringContaining('given up before a replica began it') });
    // The process reads its socket in order: after this answer it has taken the requests of the call, too.
    await callUntilAnswered(tool, randomUUID());
    await delay(1_000);
    expect(effectsOf(callId)).toEqual([]);
    await payer[Symbol.asyncDispose]();
  }, 60_000);

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

/**
 * Measures what a session and a turn keep in Redis, what a turn with a call of a remote tool costs each process, and
 * how many connections a service opens. The figures are those of docs/operations.md.
 *
 * `node_modules/.bin/node test/bench/capacity.ts [sessions] [further turns]`, default 500 4
 */
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { Redis } from 'ioredis';
import { cpuOf } from './cpu.ts';

const [sessions = 500, turns = 4] = process.argv.slice(2).map(Number);
/** Turns at once. */
const inFlight = 16;
const app = 'weather_app';
const services = samples.filter(({ manifest }) => ['weather_agent', 'get_weather'].includes(manifest.name));

await using mesh = await launchMesh({ services, model: 'scripted' });
await using redis = Object.assign(new Redis(mesh.redisUrl), {
  async [Symbol.asyncDispose]() {
    redis.disconnect();
  },
});

/** Sends a request to the gateway. @throws Error with its answer when it is refused */
async function send(path: string, body: unknown): Promise<{ id: string }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${mesh.gatewayUrl}${path}`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body) },
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string };
}

const createSession = async () => (await send(`/apps/${app}/users/u1/sessions`, {})).id;

/** Reads a number of Redis' own report. */
async function infoOf(section: string, field: string): Promise<number> {
  const found = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.info(section));
  return Number(found?.[1] ?? Number.NaN);
}

/** Does a piece of work for each session, some at once. */
async function forEach(ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<void> {
  const left = ids.values();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (const id of left) await work(id);
    }),
  );
}

const newMessage = { role: 'user', parts: [{ text: 'How is the weather in Paris?' }] };
const turn = (sessionId: string) => send('/run', { appName: app, userId: 'u1', sessionId, newMessage });
const used = () => infoOf('memory', 'used_memory');
const processes = { gateway: mesh.gateway, agent: mesh.processes[0], tool: mesh.processes[1] };
const cpuNow = async () => ({
  ...Object.fromEntries(Object.entries(processes).map(([name, each]) => [name, cpuOf(each?.pid ?? 0)])),
  redis: ((await infoOf('cpu', 'used_cpu_user')) + (await infoOf('cpu', 'used_cpu_sys'))) * 1e6,
});

await turn(await createSession());
console.log(`connections of Redis for three services: ${(await infoOf('clients', 'connected_clients')) - 1}`);
const empty = await used();
const ids = await Promise.all(Array.from({ length: sessions }, () => createSession()));
const made = await used();
console.log(`an empty session: ${Math.round((made - empty) / sessions)} bytes`);
await forEach(ids, turn);
const first = await used();
console.log(`its first turn: ${Math.round((first - made) / sessions)} bytes`);
const before = await cpuNow();
for (let n = 0; n < turns; n += 1) await forEach(ids, turn);
const after = await cpuNow();
const count = sessions * turns;
console.log(`each further turn of four events: ${Math.round(((await used()) - first) / count)} bytes`);
for (const [name, cpu] of Object.entries(after))
  console.log(
    `CPU of ${name} for a turn: ${Math.round((cpu - (before[name as keyof typeof before] ?? 0)) / count)} µs`,
  );

/** The bytes of all keys: of those that stay with the session, and of those that have an end of their time. */
const bytes = { staying: 0, ending: 0 };
let longestMs = 0;
for await (const keys of redis.scanStream({ count: 500 }) as AsyncIterable<string[]>) {
  const reads = redis.pipeline();
  for (const key of keys) reads.memory('USAGE', key, 'SAMPLES', 0).pttl(key);
  const found = ((await reads.exec()) ?? []).map(([, value]) => Number(value));
  for (let at = 0; at < found.length; at += 2) {
    const [size = 0, ttl = -1] = found.slice(at);
    bytes[ttl < 0 ? 'staying' : 'ending'] += size;
    longestMs = Math.max(longestMs, ttl);
  }
}
const each = (sum: number) => Math.round(sum / sessions / (turns + 1));
console.log(`a turn keeps ${each(bytes.staying)} bytes as long as its session is kept`);
console.log(`and ${each(bytes.ending)} bytes for ${(longestMs / 3_600_000).toFixed(1)} hours at most`);

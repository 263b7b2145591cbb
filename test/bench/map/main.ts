/**
 * Measures what agents do over NATS beside plain turns, and the gateway: medians of some rounds with one repetition
 * in flight, each beside a request of nats.js in the same round. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/map/main.ts [--rounds 5] [--only <beginning of a name>]`
 */
import { parseArgs } from 'node:util';
import { provision } from '@agentmesh/bus';
import { connectMesh, startRun } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { freePort, startNats, startRedis, until } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { cpuOf } from '../cpu.ts';
import { median } from '../median.ts';
import { runCase } from '../run-case.ts';
import { spawnAgents, spawnProgram } from '../spawn-agents.ts';
import { gatewayCases } from './gateway-cases.ts';
import { appOf, echo, jobTool, leaves, mapAgents } from './map-names.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  throw new Error(`--rounds must be 1 or more; it is ${values.rounds}`);

await using nats = await startNats();
await using redis = await startRedis({ appendOnly: true });
await provision({ url: nats.url, agents: [...mapAgents, ...leaves], tools: ['get_stock_price', jobTool] });
await using _agents = await spawnAgents('map/map-agents.ts', nats.url, redis.url);
const port = await freePort();
await using gateway = await spawnProgram(`${import.meta.dirname}/../../../services/gateway/src/main.ts`, [], {
  NATS_URL: nats.url,
  REDIS_URL: redis.url,
  MESH_HTTP_PORT: String(port),
  MESH_HEALTH_PORT: '0',
  MESH_LOG_LEVEL: 'info',
});
const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
await using mesh = await connectMesh({ service: 'driver', natsUrl: nats.url, redisUrl: redis.url, log });
await until(() => mesh.bus.directory.get('tool', jobTool), { what: 'the card of the tool' });
const raw = await connect({ servers: nats.url, noAsyncTraces: true });

/** Carries out a durable turn in a new session. @throws Error when it fails or makes too few events */
async function turn(agent: (typeof mapAgents)[number], least: number): Promise<void> {
  const app = appOf(agent);
  const { id: session } = await mesh.sessions.createSession({ appName: app, userId: 'map' });
  const run = await startRun(mesh, { app, user: 'map', session, message: 'hello' });
  let events = 0;
  for await (const { errorCode, errorMessage } of run.events) {
    if (errorCode !== undefined) throw new Error(`${agent} failed: ${errorCode} ${errorMessage}`);
    events += 1;
  }
  if (events < least) throw new Error(`${agent} made ${events} events, not ${least}`);
}

const request = async () => {
  const reply = await raw.request(echo, 'x'.repeat(200), { timeout: 5_000 });
  if (reply.data.length !== 200) throw new Error('a raw reply is not the request');
};
const call = async () => {
  const frames = mesh.bus.request(mesh.subjects.toolCall('get_stock_price'), { args: { ticker: 'GOOG' } });
  const last = (await Array.fromAsync(frames)).at(-1);
  if (last?.type !== 'result') throw new Error(`a call of a tool gave ${JSON.stringify(last)}`);
};

const cases = [
  { name: 'request and reply of nats.js', count: 200, once: request },
  { name: 'call of a tool in another process', count: 100, once: call },
  { name: 'turn without a call', count: 30, once: () => turn('plain_agent', 1) },
  { name: 'turn with a call of a remote tool', count: 30, once: () => turn('call_agent', 3) },
  { name: 'turn with an agent as a tool', count: 20, once: () => turn('one_agent', 3) },
  { name: 'turn with agents as tools over three levels', count: 10, once: () => turn('three_agent', 3) },
  { name: 'turn with a transfer', count: 20, once: () => turn('transfer_agent', 3) },
  { name: 'turn with eight remote agents in parallel', count: 10, once: () => turn('parallel_agent', 8) },
  { name: 'turn with a job of three reports', count: 20, once: () => turn('job_agent', 6) },
  ...gatewayCases(mesh, `http://127.0.0.1:${port}`),
].filter(({ name }) => name.startsWith(values.only) || name === 'request and reply of nats.js');

const measured = cases.map((each) => ({
  each,
  times: [] as number[],
  ratios: [] as number[],
  cpu: [] as number[],
}));
for (let round = 0; round <= rounds; round += 1) {
  let ofRequest = Number.NaN;
  for (const { each, times, ratios, cpu } of measured) {
    const before = cpuOf(gateway.pid);
    const { times: ofRound } = await runCase({ inFlight: 1, ...each });
    const time = median(ofRound);
    if (times.length === 0 && Number.isNaN(ofRequest)) ofRequest = time;
    if (each.name === 'request and reply of nats.js') ofRequest = time;
    // The first round warms up.
    if (round === 0) continue;
    times.push(time);
    ratios.push(time / ofRequest);
    cpu.push((cpuOf(gateway.pid) - before) / each.count);
  }
  process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
}
await raw.close();
console.log('| what | p50 (ms) | ÷ request | CPU of the gateway (µs) |\n|---|---:|---:|---:|');
for (const { each, times, ratios, cpu } of measured) {
  const ratio = `${median(ratios).toFixed(1)} ×`;
  console.log(`| ${each.name} | ${median(times).toFixed(2)} | ${ratio} | ${Math.round(median(cpu))} |`);
}

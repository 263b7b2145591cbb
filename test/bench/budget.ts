/**
 * Measures what an ask and a durable turn cost: CPU time by process, Redis requests and commands, rate and
 * median time; beside it the floor, the same messages and commits by the client libraries alone. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/budget.ts [rounds] [beginning of a case's name]`
 */
import { provision } from '@agentmesh/bus';
import { connectMesh, startRun } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { askCases, type Case } from './cases.ts';
import { countCommands } from './count-commands.ts';
import { cpuOf } from './cpu.ts';
import { floorAgent, openFloor } from './floor/floor.ts';
import { question } from './model.ts';
import { runCase } from './run-case.ts';
import { spawnAgents } from './spawn-agents.ts';
import { median } from './table.ts';

const [rounds = '3', chosen = ''] = process.argv.slice(2);

await using nats = await startNats();
await using redis = await startRedis({ appendOnly: true });
await provision({ url: nats.url, agents: ['echo_agent', 'turn_agent', floorAgent] });
await using agents = await spawnAgents('agents.ts', nats.url, redis.url);
await using floorProcess = await spawnAgents('floor/floor-agent.ts', nats.url, redis.url);
const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
await using mesh = await connectMesh({ service: 'driver', natsUrl: nats.url, redisUrl: redis.url, log });
const raw = await connect({ servers: nats.url, noAsyncTraces: true });
const floor = openFloor(raw, redis.url);

let turns = 0;

async function turn(): Promise<void> {
  // A user has a share of the running work, so there are as many users as turns in flight, and more.
  turns += 1;
  const user = `bench-${turns % 100}`;
  const { id } = await mesh.sessions.createSession({ appName: 'bench_app', userId: user });
  const run = await startRun(mesh, { app: 'bench_app', user, session: id, message: question });
  const events = await Array.fromAsync(run.events);
  if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
}

const both = (name: string, once: () => Promise<void>): Case[] => [
  { name, inFlight: 1, count: 200, once },
  { name, inFlight: 64, count: 2_000, once },
];
const cases = [
  ...askCases(mesh, raw),
  ...both('floor of an ask', floor.ask),
  ...both('turn in a new session', turn),
  ...both('floor of a turn', floor.turn),
].filter(({ name }) => name.startsWith(chosen));
const processes = {
  redis: redis.pid,
  nats: nats.pid,
  agents: agents.pid,
  floor: floorProcess.pid,
  driver: process.pid,
};

interface Figures {
  perSecond: number;
  p50: number;
  /** CPU time for one repetition by process, in µs. */
  cpu: Record<string, number>;
}

async function measure(each: Case): Promise<Figures> {
  const before = Object.values(processes).map(cpuOf);
  const { perSecond, times } = await runCase(each);
  const cpu = Object.entries(processes).map(
    ([name, pid], at) => [name, (cpuOf(pid) - (before[at] ?? 0)) / each.count] as const,
  );
  return { perSecond, p50: median(times), cpu: Object.fromEntries(cpu) };
}

const figures = new Map<Case, Figures[]>(cases.map((each) => [each, []]));
for (let round = 0; round <= Number(rounds); round += 1) {
  for (const each of cases) {
    const row = await measure(each);
    // The first round warms up.
    if (round > 0) figures.get(each)?.push(row);
  }
}
const names = Object.keys(processes);
console.log(`| CPU in µs | in flight | ${names.join(' | ')} | sum | per second | p50 (ms) |`);
console.log(`|---|${'---:|'.repeat(names.length + 4)}`);
for (const [{ name, inFlight }, rows] of figures) {
  const of = (key: string) => median(rows.map(({ cpu }) => cpu[key] ?? 0));
  const sum = median(rows.map(({ cpu }) => Object.values(cpu).reduce((a, b) => a + b, 0)));
  const rate = median(rows.map(({ perSecond }) => perSecond));
  const p50 = median(rows.map((row) => row.p50));
  const columns = [
    name,
    inFlight,
    ...names.map((key) => Math.round(of(key))),
    Math.round(sum),
    Math.round(rate),
  ];
  console.log(`| ${columns.join(' | ')} | ${p50.toFixed(2)} |`);
}
for (const [name, once] of [
  ['turn', turn],
  ['ask', cases.find(({ name }) => name.startsWith('ask'))?.once],
] as const) {
  if (!once) continue;
  const { requests, commands } = await countCommands(redis.url, once);
  console.log(`${name}: ${requests} requests to Redis, ${commands} commands`);
}
await floor.close();
await raw.close();

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openWorkStreams } from '@agentmesh/bus';
import type { Mesh } from '@agentmesh/mesh';
import { until } from '@agentmesh/testing';
import { installPackages } from './installed.ts';
import { spawnAgents, spawnProgram } from './spawn-agents.ts';

/** The costs of a process that does nothing, and of runs that wait for a model. */
export interface ServiceCosts {
  /** Time from the start of a process to its first answer, in ms. */
  coldStartMs: number;
  /** Memory of an agent without work, in MiB. */
  idleMiB: number;
  /** Memory that one run takes in its agent while the model thinks, in KiB. */
  waitingRunKiB: number;
}

interface Servers {
  natsUrl: string;
  redisUrl: string;
}

/** The number of runs that wait for the model at the same time. */
const waitingRuns = 2_000;

/** Measures the costs once. */
export async function measureServiceCosts(mesh: Mesh, servers: Servers): Promise<ServiceCosts> {
  return { ...(await measureStart(mesh, servers)), waitingRunKiB: await measureWaiting(mesh, servers) };
}

/** Measures a process of the packages: in the repository each process compiles TypeScript. */
async function measureStart(mesh: Mesh, { natsUrl, redisUrl }: Servers) {
  await using project = await installPackages();
  const beganAt = performance.now();
  const env = { NATS_URL: natsUrl, REDIS_URL: redisUrl, MESH_HEALTH_PORT: '0' };
  await using agent = await spawnProgram(project.agent, [], env);
  const subject = mesh.subjects.agentAsk('idle_agent');
  await Array.fromAsync(mesh.bus.request(subject, { message: 'hello' }));
  const coldStartMs = performance.now() - beganAt;
  // A service gives memory back when it has no work for five seconds.
  await delay(15_000);
  return { coldStartMs, idleMiB: memoryOf(agent.pid) / 1_024 };
}

async function measureWaiting(mesh: Mesh, { natsUrl, redisUrl }: Servers): Promise<number> {
  // Longer than the measurement.
  const thinkMs = String(600_000);
  const slots = String(waitingRuns);
  await using agent = await spawnAgents('slow-agent.ts', natsUrl, redisUrl, thinkMs, slots, slots);
  await enqueue(mesh, 0, 50);
  await delay(2_000);
  const before = memoryOf(agent.pid);
  await enqueue(mesh, 50, waitingRuns);
  const name = 'slow_agent';
  await using streams = await openWorkStreams({ url: natsUrl });
  const atWork = async () =>
    (await streams.list()).find(({ kind, consumer }) => kind === 'run' && consumer === name)?.ackPending ?? 0;
  await until(async () => (await atWork()) >= waitingRuns, {
    ...{ what: `${waitingRuns} runs at work`, timeoutMs: 60_000, intervalMs: 200 },
  });
  await delay(3_000);
  return (memoryOf(agent.pid) - before) / (waitingRuns - 50);
}

async function enqueue(mesh: Mesh, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1) {
    const run = { app: 'slow_app', user: `user-${at}`, message: 'hello' };
    const subject = mesh.subjects.agentRun('slow_agent', 'new');
    await mesh.bus.enqueue(subject, run, { messageId: `waiting-${at}` });
  }
}

/** Returns the memory of a process, in KiB. */
function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

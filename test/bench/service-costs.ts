import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openWorkStreams } from '@agentmesh/bus';
import type { Mesh } from '@agentmesh/mesh';
import { until } from '@agentmesh/testing';
import { type InstalledProject, installPackages } from './installed.ts';
import { spawnProgram } from './spawn-agents.ts';

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
/** Time after which a service has given back the memory that it does not use, in ms: it looks every five seconds. */
const settledMs = 15_000;

/** Measures the costs once, of processes of the packages: in the repository each process compiles TypeScript. */
export async function measureServiceCosts(mesh: Mesh, servers: Servers): Promise<ServiceCosts> {
  await using project = await installPackages();
  return {
    ...(await measureStart(mesh, servers, project)),
    waitingRunKiB: await measureWaiting(mesh, servers, project),
  };
}

const variables = ({ natsUrl, redisUrl }: Servers) => ({
  ...{ NATS_URL: natsUrl, REDIS_URL: redisUrl, MESH_HEALTH_PORT: '0' },
});

async function measureStart(mesh: Mesh, servers: Servers, project: InstalledProject) {
  const beganAt = performance.now();
  await using agent = await spawnProgram(project.agent, [], variables(servers));
  const subject = mesh.subjects.agentAsk('idle_agent');
  await Array.fromAsync(mesh.bus.request(subject, { message: 'hello' }));
  const coldStartMs = performance.now() - beganAt;
  await delay(settledMs);
  return { coldStartMs, idleMiB: memoryOf(agent.pid) / 1_024 };
}

async function measureWaiting(mesh: Mesh, servers: Servers, project: InstalledProject): Promise<number> {
  // Longer than the measurement.
  const thinkMs = '600000';
  const env = { ...variables(servers), MESH_MAX_CONCURRENCY: String(waitingRuns) };
  await using agent = await spawnProgram(project.slowAgent, [thinkMs], env);
  await enqueue(mesh, 0, 50);
  await delay(settledMs);
  const before = memoryOf(agent.pid);
  await enqueue(mesh, 50, waitingRuns);
  const name = 'slow_agent';
  await using streams = await openWorkStreams({ url: servers.natsUrl });
  const atWork = async () =>
    (await streams.list()).find(({ kind, consumer }) => kind === 'run' && consumer === name)?.ackPending ?? 0;
  await until(async () => (await atWork()) >= waitingRuns, {
    ...{ what: `${waitingRuns} runs at work`, timeoutMs: 60_000, intervalMs: 200 },
  });
  // The service may just have given memory back, which it does once in a minute.
  await delay(60_000 + settledMs);
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

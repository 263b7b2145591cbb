import { freePort } from '@agentmesh/testing';
import { cpuOf } from '../cpu.ts';
import { median } from '../median.ts';
import { spawnProgram } from '../spawn-agents.ts';
import { app, startSlowMesh } from './slow-mesh.ts';

/** The time of the model, in which all watchers connect, in ms. */
const thinkMs = 6_000;
const counts = [1, 100, 1_000];
const user = 'watched';

/** Measures when the watchers of one run get its end, at one gateway, and what they cost the gateway. */
export async function measureWatchers(rounds: number): Promise<void> {
  await using mesh = await startSlowMesh({ thinkMs, maxConcurrency: 4 });
  await mesh.addReplica();
  const port = await freePort();
  await using gateway = await spawnProgram(
    `${import.meta.dirname}/../../../services/gateway/src/main.ts`,
    [],
    {
      ...{ NATS_URL: mesh.natsUrl, REDIS_URL: mesh.redisUrl, MESH_HTTP_PORT: String(port) },
      ...{ MESH_HEALTH_PORT: '0', MESH_LOG_LEVEL: 'info' },
    },
  );
  console.log(
    '\n| watchers of one run | first end (ms) | median | last | CPU of the gateway for each (µs) |',
  );
  console.log('|---:|---:|---:|---:|---:|');
  for (const count of counts) {
    const spans: { first: number; middle: number; last: number; cpu: number }[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const { session, invocationId, events } = await mesh.begin(user);
      const invocation = `http://127.0.0.1:${port}/apps/${app}/users/${user}/sessions/${session}/invocations/${invocationId}`;
      await untilBegun(invocation);
      const url = `${invocation}/events`;
      const before = cpuOf(gateway.pid);
      const watchers = Array.from({ length: count }, () => watch(url));
      const endedAt = Array.fromAsync(events).then(() => performance.now());
      const times = (await Promise.all(watchers)).sort((a, b) => a - b);
      const cpu = (cpuOf(gateway.pid) - before) / count;
      const since = (time: number | undefined, from: number) => (time ?? Number.NaN) - from;
      const from = await endedAt;
      if (round > 0)
        spans.push({
          first: since(times[0], from),
          middle: since(times[Math.floor(count / 2)], from),
          last: since(times.at(-1), from),
          cpu,
        });
    }
    const of = (name: keyof (typeof spans)[number]) => median(spans.map((span) => span[name]));
    console.log(
      `| ${count} | ${of('first').toFixed(1)} | ${of('middle').toFixed(1)} | ${of('last').toFixed(1)} | ${Math.round(of('cpu'))} |`,
    );
  }
}

/** Waits until an agent has taken the run: before that the session has nothing of it to watch. */
async function untilBegun(invocation: string): Promise<void> {
  for (;;) {
    const { ok, status } = await fetch(invocation);
    if (ok) return;
    if (status !== 404) throw new Error(`a run that was accepted gets ${status}`);
  }
}

/** Watches a run to its end. Returns the time of the end. @throws Error for a stream without the answer */
async function watch(url: string): Promise<number> {
  const response = await fetch(url);
  const text = await response.text();
  if (response.ok && text.includes('"done"')) return performance.now();
  throw new Error(`a watcher got ${response.status}: ${text}`);
}

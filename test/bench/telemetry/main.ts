/**
 * Measures the cost of metrics and traces: a durable turn with a tool call by an agent without either, by one with
 * metrics that are read each second, and by one that also sends its spans to a receiver of OTLP. Compares the time of
 * a turn and the CPU time of the agent. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/telemetry/main.ts [rounds]`, default 9
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { provision } from '@agentmesh/bus';
import { type ConnectedMesh, connectMesh, startRun } from '@agentmesh/mesh';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { freePort, startNats, startRedis } from '@agentmesh/testing';
import { cpuOf } from '../cpu.ts';
import { median } from '../median.ts';
import { question } from '../model.ts';
import { spawnProgram } from '../spawn-agents.ts';

const rounds = Number(process.argv[2] ?? 9);
const loads = [
  { inFlight: 1, count: 200 },
  { inFlight: 64, count: 2_000 },
];
const forms = [
  { name: 'neither', env: { MESH_METRICS: 'off', MESH_TRACES: 'off' } },
  { name: 'metrics', env: { MESH_METRICS: 'on', MESH_TRACES: 'off' } },
  { name: 'metrics and traces', env: { MESH_METRICS: 'on', MESH_TRACES: 'otlp' } },
];

/** An agent with servers of its own, and the mesh that gives it work. */
interface Subject {
  mesh: ConnectedMesh;
  /** The process of the agent. */
  pid: number;
  /** Reads the page of metrics. */
  read(): Promise<void>;
}

/** Times in ms and CPU times in µs, of one turn. */
interface Cost {
  time: number;
  cpu: number;
}

await using owners = new AsyncDisposableStack();
const receiver = fork(join(import.meta.dirname, 'receiver.ts'));
const [{ url: receiverUrl }] = (await once(receiver, 'message')) as [{ url: string }];
const subjects: Subject[] = [];
for (const { env } of forms) subjects.push(await open(env));

const costs = loads.map(() => forms.map((): Cost[] => []));
for (let round = 0; round <= rounds; round += 1) {
  for (const [at, load] of loads.entries()) {
    for (let step = 0; step < forms.length; step += 1) {
      // Each round begins with another agent.
      const which = (step + round) % forms.length;
      const cost = await measure(subjects[which] as Subject, load);
      // The first round warms up.
      if (round > 0) costs[at]?.[which]?.push(cost);
    }
  }
  process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
}
receiver.send('end');
const [{ requests }] = (await once(receiver, 'message')) as [{ requests: number }];
if (requests === 0) throw new Error('no span reached the receiver');

console.log(
  '| in flight | on | time (ms) | ratio | CPU of the agent (µs) | ratio |\n| --: | --- | --: | --: | --: | --: |',
);
for (const [at, { inFlight }] of loads.entries()) {
  const [without = []] = costs[at] ?? [];
  for (const [which, { name }] of forms.entries()) {
    const own = costs[at]?.[which] ?? [];
    const ratio = (key: keyof Cost) =>
      `${median(own.map((cost, round) => cost[key] / (without[round] as Cost)[key])).toFixed(2)} ×`;
    const time = median(own.map((cost) => cost.time)).toFixed(2);
    const cpu = Math.round(median(own.map((cost) => cost.cpu)));
    console.log(`| ${[inFlight, name, time, ratio('time'), cpu, ratio('cpu')].join(' | ')} |`);
  }
}
console.log(`${requests} requests reached the receiver of spans`);

async function open(env: Record<string, string>): Promise<Subject> {
  const nats = owners.use(await startNats());
  const redis = owners.use(await startRedis({ appendOnly: true }));
  await provision({ url: nats.url, agents: ['turn_agent'] });
  const port = await freePort();
  const agent = owners.use(
    await spawnProgram(join(import.meta.dirname, 'agent.ts'), [], {
      ...{ NATS_URL: nats.url, REDIS_URL: redis.url, MESH_HEALTH_PORT: String(port) },
      ...{ MESH_MAX_CONCURRENCY: '64', OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl, ...env },
    }),
  );
  const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
  const mesh = owners.use(
    await connectMesh({ service: 'driver', natsUrl: nats.url, redisUrl: redis.url, log }),
  );
  const read = async () => {
    if (env.MESH_METRICS === 'off') return;
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    if (!(await answer.text()).includes('agentmesh_work_duration_count'))
      throw new Error(`the page of metrics shows no work: ${answer.status}`);
  };
  return { mesh, pid: agent.pid, read };
}

async function measure({ mesh, pid, read }: Subject, { inFlight, count }: (typeof loads)[number]) {
  await turn(mesh, 0);
  let failure: unknown;
  const reading = setInterval(() => {
    read().catch((error: unknown) => {
      failure = error;
    });
  }, 1_000);
  const before = cpuOf(pid);
  const beganAt = performance.now();
  let started = 0;
  const worker = async () => {
    while (started < count) await turn(mesh, ++started);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const time = (performance.now() - beganAt) / count;
  clearInterval(reading);
  await read();
  if (failure) throw failure;
  return { time, cpu: (cpuOf(pid) - before) / count };
}

async function turn(mesh: ConnectedMesh, number: number): Promise<void> {
  const user = `user-${number % 100}`;
  const { id } = await mesh.sessions.createSession({ appName: 'bench_app', userId: user });
  const run = await startRun(mesh, { app: 'bench_app', user, session: id, message: question });
  const events = await Array.fromAsync(run.events);
  if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
}

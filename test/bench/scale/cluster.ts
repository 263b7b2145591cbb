import { provision } from '@agentmesh/bus';
import { type ConnectedMesh, connectMesh, startRun } from '@agentmesh/mesh';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis, startRedisCluster } from '@agentmesh/testing';
import { appOf, leaves, mapAgents } from '../map/map-names.ts';
import { median } from '../median.ts';
import { spawnAgents } from '../spawn-agents.ts';

const agent = 'call_agent';
const app = appOf(agent);
const loads = [
  { inFlight: 1, count: 60 },
  { inFlight: 64, count: 1_000 },
];

/** Measures turns with a call of a remote tool over a cluster of three masters against a single server. */
export async function measureCluster(rounds: number): Promise<void> {
  await using owners = new AsyncDisposableStack();
  const single = owners.use(await startRedis({ appendOnly: true }));
  const cluster = owners.use(
    await startRedisCluster({ replicas: 0, extraArgs: ['--appendonly', 'yes', '--appendfsync', 'everysec'] }),
  );
  const ends = [];
  for (const url of [single.url, cluster.url]) ends.push(owners.use(await openEnd(url)));
  console.log('\n| turn with a call of a remote tool | in flight | single: ms | cluster: ms | ratio |');
  console.log('|---|---:|---:|---:|---:|');
  for (const { inFlight, count } of loads) {
    const times: [number, number][] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const ofRound: number[] = [];
      for (const { client } of ends) ofRound.push(await timeOf(client, inFlight, count));
      const [a = Number.NaN, b = Number.NaN] = ofRound;
      if (round > 0) times.push([a, b]);
    }
    const of = (read: (pair: [number, number]) => number) => median(times.map(read)).toFixed(2);
    console.log(
      `| new session | ${inFlight} | ${of(([a]) => a)} | ${of(([, b]) => b)} | ${of(([a, b]) => b / a)} × |`,
    );
  }
}

/** Starts agents at a Redis, with a NATS of their own, and connects a client. */
async function openEnd(redisUrl: string): Promise<AsyncDisposable & { client: ConnectedMesh }> {
  await using owners = new AsyncDisposableStack();
  const nats = owners.use(await startNats());
  const tools = ['get_stock_price', 'count_up'];
  await provision({ url: nats.url, agents: [...mapAgents, ...leaves], tools });
  owners.use(await spawnAgents('map/map-agents.ts', nats.url, redisUrl));
  const log = createLogger({ service: 'driver', replica: 'bench', level: 'warn' });
  const client = owners.use(await connectMesh({ service: 'driver', natsUrl: nats.url, redisUrl, log }));
  const all = owners.move();
  return { client, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Returns the time of one turn, in ms, with some in flight. @throws Error when one fails */
async function timeOf(client: ConnectedMesh, inFlight: number, count: number): Promise<number> {
  const beganAt = performance.now();
  const left = Array.from({ length: count }).values();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (const _each of left) {
        const { id: session } = await client.sessions.createSession({ appName: app, userId: 'u' });
        const { events, end } = await startRun(client, { app, user: 'u', session, message: 'hello' });
        const { length } = await Array.fromAsync(events);
        const { status } = await end;
        if (status !== 'completed' || length < 3)
          throw new Error(`a turn ended as ${status}, with ${length} events`);
      }
    }),
  );
  return (performance.now() - beganAt) / count;
}

import { provision } from '@agentmesh/bus';
import { type ConnectedMesh, connectMesh, type StartedRun, startRun } from '@agentmesh/mesh';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { type Spawned, spawnAgents } from '../spawn-agents.ts';

export const app = 'slow_app';

/** Servers, and a client of an agent whose model thinks for a while. */
export interface SlowMesh extends AsyncDisposable {
  client: ConnectedMesh;
  natsUrl: string;
  redisUrl: string;
  /** Starts one more replica of the agent. */
  addReplica(): Promise<Spawned>;
  /** Starts a run of a user in a session of its own. */
  begin(user: string): Promise<StartedRun & { session: string }>;
}

/** Starts the servers, without a replica. `thinkMs` is the time of each model call, `maxConcurrency` the runs of a replica at once. */
export async function startSlowMesh({
  thinkMs,
  maxConcurrency,
}: {
  thinkMs: number;
  maxConcurrency: number;
}): Promise<SlowMesh> {
  await using owners = new AsyncDisposableStack();
  const redis = owners.use(await startRedis({ appendOnly: true }));
  const nats = owners.use(await startNats());
  await provision({ url: nats.url, agents: ['slow_agent'] });
  const log = createLogger({ service: 'client', replica: 'bench', level: 'warn' });
  const client = owners.use(
    await connectMesh({ service: 'client', natsUrl: nats.url, redisUrl: redis.url, log }),
  );
  const all = owners.move();
  return {
    ...{ client, natsUrl: nats.url, redisUrl: redis.url },
    async addReplica() {
      const words = [nats.url, redis.url, ...[thinkMs, 10_000, maxConcurrency].map(String)];
      return all.use(await spawnAgents('slow-agent.ts', ...words));
    },
    async begin(user) {
      const { id: session } = await client.sessions.createSession({ appName: app, userId: user });
      return { ...(await startRun(client, { app, user, session, message: 'go' })), session };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

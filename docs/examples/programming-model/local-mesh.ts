// Shared by the examples on the mesh: a NATS and a Redis server. Each agent and tool has its own connection,
// as in a process of its own.
import type { Event } from '@agentmesh/agent';
import { provision } from '@agentmesh/bus';
import { connectMesh, type Mesh } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';

interface Served {
  stop(): Promise<void>;
}

export async function startLocalMesh(agents: string[]) {
  await using starting = new AsyncDisposableStack();
  const nats = starting.use(await startNats());
  const redis = starting.use(await startRedis());
  await provision({ url: nats.url, agents });
  const owners = starting.move();
  const served: Served[] = [];
  const services = new Map<unknown, string>();
  async function connect(service: string): Promise<Mesh> {
    const log = createLogger({ service, replica: '1', level: 'error' });
    const options = { service, natsUrl: nats.url, redisUrl: redis.url, log };
    const mesh = owners.use(await connectMesh(options));
    services.set(mesh.bus.replica, service);
    return mesh;
  }
  return {
    connect,
    async serve(service: string, start: (mesh: Mesh) => Promise<Served>) {
      const one = await start(await connect(service));
      served.push(one);
      return one;
    },
    /** Returns the service that an event comes from. */
    serviceOf: ({ customMetadata }: Event) => services.get(customMetadata?.['mesh:replica']),
    async [Symbol.asyncDispose]() {
      await Promise.all(served.map((each) => each.stop()));
      await owners.disposeAsync();
    },
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProvisionOptions, provision } from '@agentmesh/bus';
import {
  freePort,
  type ModelScript,
  type RestartableServer,
  type ScriptedGemini,
  startNats,
  startNatsCluster,
  startRedis,
  startRestartable,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { agentNames, type PartName, partNames } from './agents.ts';
import { type Replica, startReplica } from './replica.ts';
import type { Sabotage } from './sabotage.ts';
import type { WorkerOrder } from './worker.ts';

export interface FieldOptions {
  model: ModelScript;
  /** The agents and tools; default all. */
  parts?: readonly PartName[];
  /** The number of replicas of each agent and tool; default 2. */
  replicas?: number;
  /** The number of gateways; default 2. */
  gateways?: number;
  /** The number of NATS servers; several form a cluster, with a copy of every stream on each. Default 1. */
  natsServers?: number;
  /** The silence after which a run is delivered again, in ms. */
  ackWaitMs: number;
  sabotage?: Sabotage;
  onLine?: (replica: string, line: string) => void;
}

/** All parts that can be killed: servers with their data, and the processes that use them. */
export interface Field extends AsyncDisposable {
  /** The NATS server, or the nodes of a cluster. */
  readonly nats: readonly RestartableServer[];
  readonly natsUrl: string;
  readonly redis: RestartableServer;
  readonly model: ScriptedGemini;
  readonly gateways: Replica[];
  readonly gatewayUrls: string[];
  readonly parts: Record<PartName, Replica[]>;
  /** The folder of the notes about effects. */
  readonly effects: string;
  /** All processes except the servers. */
  readonly replicas: Replica[];
}

/** Starts real servers, the gateways and the replicas of every part, each as a process. */
export async function startField(options: FieldOptions): Promise<Field> {
  const { parts = partNames, replicas: count = 2, gateways: gatewayCount = 2, ackWaitMs } = options;
  await using owners = new AsyncDisposableStack();
  const cache = mkdtempSync(join(tmpdir(), 'agentmesh-chaos-'));
  owners.defer(() => rmSync(cache, { recursive: true, force: true }));
  const model = owners.use(await startScriptedGemini({ script: options.model }));
  const { natsServers = 1 } = options;
  const { nats, natsUrl } = await startBus(owners, natsServers);
  const redis = owners.use(await startRestartable((place) => startRedis({ ...place, ...safeRedis })));
  await until(
    () => provisioned({ url: natsUrl, agents: [...agentNames], ackWaitMs, replicas: natsServers }),
    {
      what: 'NATS to be provisioned',
      timeoutMs: 30_000,
    },
  );
  const env = {
    PATH: process.env.PATH,
    // There are many starts; with the cache they do not compile the same files again.
    NODE_COMPILE_CACHE: cache,
  };
  const effects = join(cache, 'effects');
  const urls = { natsUrl, redisUrl: redis.url, modelUrl: model.url, effects };
  const workers = parts.flatMap((part) =>
    Array.from({ length: count }, (_, at) =>
      owners.use(
        startWorker(
          { part, ...urls, ...(options.sabotage && { sabotage: options.sabotage }) },
          at,
          env,
          options,
        ),
      ),
    ),
  );
  const ports = await Promise.all(Array.from({ length: gatewayCount }, freePort));
  const gateways = ports.map((port, at) =>
    owners.use(startGateway(port, at, { ...env, NATS_URL: natsUrl, REDIS_URL: redis.url }, options)),
  );
  const replicas = [...workers, ...gateways];
  await Promise.all(replicas.map((replica) => replica.ready()));
  const all = owners.move();
  return {
    ...{ nats, natsUrl, redis, model, gateways, replicas, effects },
    gatewayUrls: ports.map((port) => `http://127.0.0.1:${port}`),
    parts: Object.groupBy(workers, ({ name }) => name.split('/')[0] as PartName) as Record<
      PartName,
      Replica[]
    >,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function startBus(owners: AsyncDisposableStack, size: number) {
  if (size === 1) {
    const server = owners.use(await startRestartable((place) => startNats(place)));
    return { nats: [server], natsUrl: server.url };
  }
  const cluster = owners.use(await startNatsCluster({ size }));
  return { nats: cluster.nodes, natsUrl: cluster.url };
}

/** Tells whether provisioning succeeds, which a cluster allows only after it has elected its leaders. */
async function provisioned(options: ProvisionOptions): Promise<boolean> {
  try {
    await provision(options);
    return true;
  } catch {
    return false;
  }
}

/** The settings with which Redis has each acknowledged write on the disk. */
const safeRedis = { appendOnly: true, extraArgs: ['--appendfsync', 'always'] };

function startWorker(
  order: Omit<WorkerOrder, 'replica'>,
  at: number,
  env: NodeJS.ProcessEnv,
  { onLine }: FieldOptions,
): Replica {
  return startReplica({
    name: `${order.part}/${at + 1}`,
    command: (replica) => ({
      args: ['worker.ts', JSON.stringify({ ...order, replica } satisfies WorkerOrder)],
      cwd: import.meta.dirname,
      env,
    }),
    isReady: (line) => line === 'started',
    ...(onLine && { onLine }),
  });
}

function startGateway(port: number, at: number, env: NodeJS.ProcessEnv, { onLine }: FieldOptions): Replica {
  return startReplica({
    name: `gateway/${at + 1}`,
    command: () => ({
      args: ['src/main.ts'],
      cwd: new URL('../../services/gateway', import.meta.url).pathname,
      // A run must be accepted even while all replicas of its agent are dead.
      env: { ...env, MESH_HTTP_PORT: String(port), MESH_WHEN_ABSENT: 'enqueue' },
    }),
    isReady: (line) => line.includes('"started"'),
    ...(onLine && { onLine }),
  });
}

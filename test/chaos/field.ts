import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProvisionOptions, provision } from '@agentmesh/bus';
import {
  busName,
  gatewayManifest,
  keeperManifest,
  provisionedAgents,
  provisionUser,
  serviceName,
} from '@agentmesh/mesh';
import { provisionRedis } from '@agentmesh/store';
import {
  freePort,
  type ModelScript,
  type RestartableServer,
  type ScriptedGemini,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { agentNames, jobTools, manifestsOf, type PartName, partNames, runsPerUser } from './agents.ts';
import { makeAccounts } from './field/accounts.ts';
import type { FieldLog } from './field/lives.ts';
import {
  type AccountForm,
  type Login,
  makePasswords,
  natsEnvironment,
  redisUrlAs,
  redisUsersOf,
} from './field/logins.ts';
import { type Addresses, type Network, openNetwork } from './field/network.ts';
import { moveClockOfRedis, type SetClock } from './field/redis-clock.ts';
import { type FieldRedis, type RedisKind, startFieldNats, startFieldRedis } from './field/servers.ts';
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
  natsServers?: number | undefined;
  /** The form of the NATS accounts; default `file`. */
  accounts?: AccountForm | undefined;
  /** The kind of Redis; default one server. */
  redisKind?: RedisKind | undefined;
  /** The number of Redis replicas that must have a write before it counts as done; default 0. */
  waitReplicas?: number | undefined;
  /** Tells whether each process reaches the servers through proxies of its own; default false. */
  proxied?: boolean | undefined;
  /** The space on disk for JetStream, in bytes; default the server's own choice. */
  maxFileBytes?: number | undefined;
  /** Tells whether the clock of Redis can be moved; default false. */
  movesClock?: boolean | undefined;
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
  /** Redis, with an address that has all rights. */
  readonly redis: FieldRedis;
  /** Returns the address of Redis with the login of a user: `provision`, or the user of a service. */
  redisUrlOf(user: string): string;
  readonly model: ScriptedGemini;
  readonly gateways: Replica[];
  readonly gatewayUrls: string[];
  readonly parts: Record<PartName, Replica[]>;
  /** The folder of the notes about effects. */
  readonly effects: string;
  /** All processes except the servers. */
  readonly replicas: Replica[];
  /** The proxies between the processes and the servers. */
  readonly network: Network;
  /** The lives of all processes, and the faults that were carried out. */
  readonly log: FieldLog;
  /**
   * Sets the clock of Redis. @throws Error in a field whose clock cannot be moved
   */
  setClock: SetClock;
  /** Returns the login of a NATS user: `client`, `provision`, or the user of a service. */
  login(user: string): Login;
}

/**
 * Starts real servers, the gateways and the replicas of every part, each as a process with the rights of its
 * own users of NATS and Redis.
 */
export async function startField(options: FieldOptions): Promise<Field> {
  const { parts = partNames, ackWaitMs, natsServers = 1, redisKind = 'single' } = options;
  await using owners = new AsyncDisposableStack();
  const cache = mkdtempSync(join(tmpdir(), 'agentmesh-chaos-'));
  owners.defer(() => rmSync(cache, { recursive: true, force: true }));
  const model = owners.use(await startScriptedGemini({ script: options.model }));
  const manifests = manifestsOf(partNames);
  const passwordOf = makePasswords();
  const { login, push, configuration } = await makeAccounts(options.accounts ?? 'file', manifests, {
    passwordOf,
    folder: cache,
  });
  const nats = await startFieldNats(owners, {
    servers: natsServers,
    configuration,
    maxFileBytes: options.maxFileBytes,
  });
  await push(nats.url);
  const setClock = options.movesClock ? moveClockOfRedis(cache) : noClock;
  const redis = await startFieldRedis(owners, redisKind, redisUsersOf(manifests, passwordOf));
  const redisUrlOf: Field['redisUrlOf'] = (user) => redisUrlAs(redis.url, user, passwordOf);
  await provisionRedis({ url: redisUrlOf(provisionUser) });
  const provisioning = {
    ...{ url: nats.url, agents: [...agentNames], tools: [...jobTools], ackWaitMs, replicas: natsServers },
    ...{ services: provisionedAgents(manifests), ...login(provisionUser) },
  };
  await until(() => provisioned(provisioning), { what: 'NATS to be provisioned', timeoutMs: 120_000 });
  const direct = { natsUrl: nats.url, redisUrl: redis.url };
  const network = openNetwork(owners, direct, options.proxied ?? false);
  const log: FieldLog = { lives: [], faults: [] };
  // There are many starts; with the cache they do not compile the same files again.
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache };
  const effects = join(cache, 'effects');
  const redisUrlAt: Setting['redisUrlAt'] = (url, user) => redisUrlAs(url, user, passwordOf);
  const setting: Setting = {
    ...{ options, owners, network, log, login, redisUrlAt, env, effects, modelUrl: model.url },
  };
  const workers = await startWorkers(setting, parts);
  const { gateways, gatewayUrls } = await startGateways(setting);
  const keepers = await startKeepers(setting);
  const replicas = [...workers, ...gateways, ...keepers];
  await Promise.all(replicas.map((replica) => replica.ready()));
  const all = owners.move();
  return {
    ...{ nats: nats.nodes, natsUrl: nats.url, redis, model, gateways, gatewayUrls, replicas },
    ...{ redisUrlOf, network, log, login, effects, setClock },
    parts: Object.groupBy(workers, ({ name }) => name.split('/')[0] as PartName) as Record<
      PartName,
      Replica[]
    >,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function noClock(): never {
  throw new Error('the clock of this field cannot be moved');
}

/** The data that the starts of all processes share. */
interface Setting {
  options: FieldOptions;
  owners: AsyncDisposableStack;
  network: Network;
  log: FieldLog;
  login: Field['login'];
  /** Returns an address of Redis with the login of a user. */
  redisUrlAt(url: string, user: string): string;
  env: NodeJS.ProcessEnv;
  /** The folder of the notes about effects. */
  effects: string;
  modelUrl: string;
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

async function startWorkers(setting: Setting, parts: readonly PartName[]): Promise<Replica[]> {
  const { replicas = 2, sabotage, waitReplicas } = setting.options;
  const places = parts.flatMap((part) =>
    Array.from({ length: replicas }, (_, at) => ({ part, name: `${part}/${at + 1}` })),
  );
  return await Promise.all(
    places.map(async ({ part, name }) => {
      const user = serviceName(part.endsWith('_agent') ? 'agent' : 'tool', part);
      const { natsUrl, redisUrl } = await setting.network.connect(name);
      const order: Omit<WorkerOrder, 'replica'> = {
        ...{ part, natsUrl, redisUrl: setting.redisUrlAt(redisUrl, user), login: setting.login(user) },
        modelUrl: setting.modelUrl,
        effects: setting.effects,
        ...(waitReplicas !== undefined && { waitReplicas }),
        ...(sabotage && { sabotage }),
      };
      return setting.owners.use(startWorker(setting, name, order));
    }),
  );
}

function startWorker(
  { options: { onLine }, env, log }: Setting,
  name: string,
  order: Omit<WorkerOrder, 'replica'>,
): Replica {
  return startReplica({
    name,
    command: (replica) => ({
      args: ['worker.ts', JSON.stringify({ ...order, replica } satisfies WorkerOrder)],
      cwd: import.meta.dirname,
      env,
    }),
    isReady: (line) => line === 'started',
    lives: log.lives,
    ...(onLine && { onLine }),
  });
}

async function startGateways(setting: Setting) {
  const { gateways: count = 2 } = setting.options;
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const gateways = await Promise.all(
    ports.map(async (port, at) => {
      const name = `gateway/${at + 1}`;
      const addresses = await setting.network.connect(name);
      return setting.owners.use(startGateway(setting, name, { ...addresses, port }));
    }),
  );
  return { gateways, gatewayUrls: ports.map((port) => `http://127.0.0.1:${port}`) };
}

function startGateway(
  setting: Setting,
  name: string,
  { port, ...at }: Addresses & { port: number },
): Replica {
  return startMain(
    setting,
    { name, at, folder: 'gateway', user: busName(gatewayManifest) },
    {
      MESH_HTTP_PORT: String(port),
      // A run must be accepted even while all replicas of its agent are dead.
      MESH_WHEN_ABSENT: 'enqueue',
      MESH_RUNS_PER_USER: String(runsPerUser),
    },
  );
}

/** Starts two keepers where services have accounts, which give them no right on the files. */
async function startKeepers(setting: Setting): Promise<Replica[]> {
  if (setting.options.accounts === 'none') return [];
  return await Promise.all(
    ['keeper/1', 'keeper/2'].map(async (name) => {
      const at = await setting.network.connect(name);
      const keeper = { name, at, folder: 'keeper', user: busName(keeperManifest) };
      return setting.owners.use(startMain(setting, keeper, {}));
    }),
  );
}

/** Starts the process of a service that is neither an agent nor a tool. */
function startMain(
  { options: { onLine, waitReplicas = 0 }, env, log, login, redisUrlAt }: Setting,
  { name, at, folder, user }: { name: string; at: Addresses; folder: string; user: string },
  own: NodeJS.ProcessEnv,
): Replica {
  return startReplica({
    name,
    command: () => ({
      args: ['src/main.ts'],
      cwd: new URL(`../../services/${folder}`, import.meta.url).pathname,
      env: {
        ...env,
        NATS_URL: at.natsUrl,
        REDIS_URL: redisUrlAt(at.redisUrl, user),
        ...natsEnvironment(login(user)),
        MESH_REDIS_WAIT_REPLICAS: String(waitReplicas),
        ...own,
      },
    }),
    isReady: (line) => line.includes('"started"'),
    lives: log.lives,
    ...(onLine && { onLine }),
  });
}

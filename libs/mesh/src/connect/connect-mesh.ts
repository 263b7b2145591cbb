import { GeminiEmbedder } from '@agentmesh/agent';
import { connectNats, type NatsTls } from '@agentmesh/bus';
import {
  AsyncDisposableStack,
  assertOptions,
  createSecretBox,
  MeshError,
  type OptionNames,
  subjects,
} from '@agentmesh/protocol';
import type { Logger, PriceOf, ServiceConfig } from '@agentmesh/service';
import { connectRedisStore, type MemoryOptions, type RetentionOf } from '@agentmesh/store';
import { assertArtifacts } from '../artifacts/artifact-folder.ts';
import { MeshNoArtifacts } from '../artifacts/mesh-no-artifacts.ts';
import { openServiceArtifacts } from '../artifacts/open-artifacts.ts';
import { keeperBox } from '../keeper/keeper-box.ts';
import { createCallers } from '../mesh/callers.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { type RunLimits, runLimits } from '../mesh/run-limits.ts';
import { createMesh } from './create-mesh.ts';
import { redisPrefixOf } from './redis-prefix.ts';
import { reportTo } from './report.ts';

type NatsTlsConfig = Pick<ServiceConfig, 'natsCaFile' | 'natsCertFile' | 'natsKeyFile'>;

export interface ConnectOptions {
  /** Name of this process among the replicas of the service, as in its logs; default: a new one. */
  replica?: string | undefined;
  /** Time limit of the first connection to NATS, in ms; default 10,000. */
  connectTimeoutMs?: number;
  /** Name of the service, and of its inboxes: `agent_<name>`, `tool_<name>`, `gateway`. */
  service: string;
  natsUrl: string;
  user?: string | undefined;
  password?: string | undefined;
  /** Files of a connection with TLS; only for addresses with `tls://`. */
  natsTls?: NatsTls | undefined;
  /** File with NATS credentials, instead of `user` and `password`. */
  credsFile?: string | undefined;
  /** Address of one server, a Redis Cluster, or Sentinels, with or without TLS: see `parseRedisUrl`. */
  redisUrl: string;
  /**
   * File with the certificates, in PEM, that vouch for a Redis with TLS; default: the certificates that
   * Node.js trusts.
   */
  redisCaFile?: string | undefined;
  /** Number of Redis replicas that must have a write before it counts as done; default 0. */
  redisWaitReplicas?: number;
  log: Logger;
  /** Default `mesh`. */
  namespace?: string;
  /** First part of all Redis keys; default `am`, or `am-<namespace>` in another namespace than `mesh`. */
  redisPrefix?: string;
  /**
   * Keys that seal people's credentials, as `createSecretBox` reads them; without them the process asks keepers to
   * seal and open credentials.
   */
  credentialKeys?: string | undefined;
  /** Limit of the events that are cached between turns, in bytes; default 64 MiB. */
  sessionCacheBytes?: number;
  /**
   * The time for which memories of users are kept, and the embedder for a search by meaning. Default:
   * memories are kept for ever, and a search goes by words only.
   */
  memory?: Omit<MemoryOptions, 'onWarning'>;
  /**
   * The time for which sessions of an app are kept, and the number of their events; default: all, for ever.
   */
  retention?: RetentionOf;
  /**
   * Place of the artifacts: `nats`, or the `file:` address of a folder that all processes share; default
   * `nats`.
   */
  artifacts?: string;
  /**
   * Tells whether the process uses artifacts; default true. A service whose definition uses none has no rights on
   * them, and gets an error that says what to change.
   */
  usesArtifacts?: boolean;
  /** Limits for the runs of one user; default 8 at work and 1,000 waiting. */
  limits?: RunLimits;
  /** The prices of models, for the metric of costs; default none. */
  priceOf?: PriceOf | undefined;
  /** Tells whether the process reads the cards of other services; default true. */
  cards?: boolean;
}

const optionNames: OptionNames<ConnectOptions> = {
  service: true,
  replica: true,
  connectTimeoutMs: true,
  natsUrl: true,
  user: true,
  password: true,
  natsTls: true,
  credsFile: true,
  redisUrl: true,
  redisCaFile: true,
  redisWaitReplicas: true,
  log: true,
  namespace: true,
  redisPrefix: true,
  credentialKeys: true,
  sessionCacheBytes: true,
  memory: true,
  retention: true,
  artifacts: true,
  usesArtifacts: true,
  limits: true,
  priceOf: true,
  cards: true,
};

export type ConnectedMesh = Mesh &
  AsyncDisposable & {
    /** Returns why the process cannot work now; empty when it can. */
    problems(): Promise<string[]>;
  };

/**
 * Connects a process to NATS and Redis.
 *
 * @throws MeshError `unavailable` when a server does not answer within some seconds, `unauthenticated` when a
 * server refuses the credentials, `invalid_argument` for an unknown option, an invalid url of Redis or
 * invalid credential keys, `failed_precondition` for a folder of artifacts that cannot be used
 */
export async function connectMesh(options: ConnectOptions): Promise<ConnectedMesh> {
  assertOptions('connectMesh', options ?? null, optionNames);
  const { log, service, namespace = 'mesh' } = options;
  const { redisPrefix = redisPrefixOf(namespace) } = options;
  const onError = reportTo(log);
  const ownBox = options.credentialKeys === undefined ? undefined : createSecretBox(options.credentialKeys);
  if (options.usesArtifacts !== false) await assertArtifacts(options.artifacts ?? 'nats');
  await using owners = new AsyncDisposableStack();
  const bus = owners.use(
    await connectNats({
      url: options.natsUrl,
      service,
      replica: options.replica,
      connectTimeoutMs: options.connectTimeoutMs,
      onError,
      ...(options.user !== undefined && { user: options.user }),
      ...(options.password !== undefined && { pass: options.password }),
      tls: options.natsTls,
      credsFile: options.credsFile,
      namespace,
      ...(options.cards !== undefined && { cards: options.cards }),
    }),
  );
  const box = ownBox ?? keeperBox(bus, subjects(namespace));
  const store = owners.use(
    await connectRedisStore({
      url: options.redisUrl,
      caFile: options.redisCaFile,
      waitReplicas: options.redisWaitReplicas,
      onError: (error) => onError(error, 'redis'),
      prefix: redisPrefix,
      ...(options.retention && { retention: options.retention }),
      onSkew: (aheadMs) =>
        log.warn(
          { aheadMs: Math.round(aheadMs) },
          'the clock of this process is off; it works by the clock of Redis: let NTP set the clock',
        ),
      box,
      memory: {
        ...options.memory,
        onWarning: (error) => log.warn({ err: error }, 'memories are searched by words only: no vectors'),
      },
    }),
  );
  const { sessions, callResults, jobs, memory, credentials, credentialRecords, apiKeys } = store;
  const mesh = createMesh({
    bus,
    sessions,
    callResults,
    jobs,
    memory,
    credentialRecords,
    apiKeys,
    requestLimits: store.requestLimits,
    repeatedRequests: store.repeatedRequests,
    runQuotas: store.runQuotas,
    callers: createCallers(store.callerKeys),
    log,
    artifacts:
      options.usesArtifacts === false
        ? new MeshNoArtifacts(service)
        : await openServiceArtifacts(options.artifacts ?? 'nats', bus, namespace),
    namespace,
    ...(options.limits && { limits: options.limits }),
    ...(options.priceOf && { priceOf: options.priceOf }),
    ...(options.sessionCacheBytes !== undefined && { sessionCacheBytes: options.sessionCacheBytes }),
    box,
    dataKeys: store.dataKeys,
    ...(credentials && { credentials }),
  });
  const connected = owners.move();
  return {
    ...mesh,
    async problems() {
      const problems = bus.status().connected ? [] : ['NATS is not connected'];
      try {
        await store.ping();
      } catch (error) {
        problems.push(`Redis does not answer: ${MeshError.from(error).message}`);
      }
      return problems;
    },
    [Symbol.asyncDispose]: () => connected.disposeAsync(),
  };
}

/** Connects a service as its configuration says. @throws as {@link connectMesh} */
export async function connectService(
  service: string,
  config: ServiceConfig,
  log: Logger,
  options: Pick<ConnectOptions, 'cards' | 'replica' | 'connectTimeoutMs' | 'usesArtifacts'> = {},
): Promise<ConnectedMesh> {
  return await connectMesh({
    service,
    log,
    natsUrl: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword?.reveal(),
    natsTls: natsTlsOf(config),
    credsFile: config.natsCreds,
    redisUrl: config.redisUrl.reveal(),
    redisCaFile: config.redisCaFile,
    redisWaitReplicas: config.redisWaitReplicas,
    credentialKeys: config.credentialKeys?.reveal(),
    memory: memoryOptions(config),
    namespace: config.namespace,
    sessionCacheBytes: config.sessionCacheMb * 1024 * 1024,
    retention: retentionOf(config),
    artifacts: config.artifacts,
    limits: runLimits({ running: config.runsPerUser, waiting: config.waitingRunsPerUser }),
    priceOf: config.prices,
    ...(config.redisPrefix !== undefined && { redisPrefix: config.redisPrefix }),
    ...options,
  });
}

/** Returns the files of the connection to NATS, from the configuration of a service. */
export function natsTlsOf({ natsCaFile, natsCertFile, natsKeyFile }: NatsTlsConfig): NatsTls {
  return { caFile: natsCaFile, certFile: natsCertFile, keyFile: natsKeyFile };
}

function memoryOptions({
  memoryDays,
  memoryEmbeddingModel: model,
}: ServiceConfig): Omit<MemoryOptions, 'onWarning'> {
  return {
    ...(memoryDays !== undefined && { ttlMs: memoryDays * 86_400_000 }),
    ...(model !== undefined && { embedder: new GeminiEmbedder({ model }) }),
  };
}

function retentionOf({ sessionDays, sessionMaxEvents }: ServiceConfig): RetentionOf {
  return (app) => {
    const [days, maxEvents] = [sessionDays?.(app), sessionMaxEvents?.(app)];
    return {
      ...(days !== undefined && { sessionTtlMs: days * 86_400_000 }),
      ...(maxEvents !== undefined && { maxEvents }),
    };
  };
}

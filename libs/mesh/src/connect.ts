import { connectNats } from '@agentmesh/bus';
import { createSecretBox, MeshError } from '@agentmesh/protocol';
import type { Logger, ServiceConfig } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';
import { openArtifacts } from './artifacts/open-artifacts.ts';
import { createMesh, type Mesh } from './mesh.ts';

export interface ConnectOptions {
  /** Name of the service, and of its inboxes: `agent_<name>`, `tool_<name>`, `gateway`. */
  service: string;
  natsUrl: string;
  user?: string | undefined;
  password?: string | undefined;
  redisUrl: string;
  log: Logger;
  /** Default `mesh`. */
  namespace?: string;
  /** First part of all Redis keys; default `am`, in another namespace than `mesh` `am-<namespace>`. */
  redisPrefix?: string;
  /** Seal people's credentials, as `createSecretBox` reads them; without them the process keeps none. */
  credentialKeys?: string | undefined;
  /** Where artifacts are kept: `nats`, or the `file:` address of a folder that all processes share; default `nats`. */
  artifacts?: string;
  /** Read the cards of others; default true. */
  cards?: boolean;
}

export type ConnectedMesh = Mesh &
  AsyncDisposable & {
    /** Why it cannot work now; empty when it can. */
    problems(): Promise<string[]>;
  };

/**
 * Connects a process to NATS and Redis.
 *
 * @throws MeshError `unavailable` when one of them does not answer within some seconds, `unauthenticated` when it refuses the credentials,
 * `invalid_argument` for credential keys that are none
 */
export async function connectMesh(options: ConnectOptions): Promise<ConnectedMesh> {
  const { log, service, namespace = 'mesh' } = options;
  const { redisPrefix = namespace === 'mesh' ? 'am' : `am-${namespace}` } = options;
  const onError = (error: unknown, where: string) => log.error({ err: error, where }, 'defect reported');
  const box = options.credentialKeys === undefined ? undefined : createSecretBox(options.credentialKeys);
  await using owners = new AsyncDisposableStack();
  const store = owners.use(
    await connectRedisStore({
      url: options.redisUrl,
      onError: (error) => onError(error, 'redis'),
      prefix: redisPrefix,
      ...(box && { box }),
    }),
  );
  const bus = owners.use(
    await connectNats({
      url: options.natsUrl,
      service,
      onError,
      ...(options.user !== undefined && { user: options.user }),
      ...(options.password !== undefined && { pass: options.password }),
      namespace,
      ...(options.cards !== undefined && { cards: options.cards }),
    }),
  );
  const { sessions, callResults, jobs, credentials } = store;
  const mesh = createMesh({
    bus,
    sessions,
    callResults,
    jobs,
    log,
    artifacts: openArtifacts(options.artifacts ?? 'nats', bus, namespace),
    namespace,
    ...(box && { box }),
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
  options: Pick<ConnectOptions, 'cards'> = {},
): Promise<ConnectedMesh> {
  return await connectMesh({
    service,
    log,
    natsUrl: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword?.reveal(),
    redisUrl: config.redisUrl.reveal(),
    credentialKeys: config.credentialKeys?.reveal(),
    namespace: config.namespace,
    artifacts: config.artifacts,
    ...(config.redisPrefix !== undefined && { redisPrefix: config.redisPrefix }),
    ...options,
  });
}

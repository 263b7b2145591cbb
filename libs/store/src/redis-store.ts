import type { Embedder, MemoryService, SessionService } from '@agentmesh/agent';
import type { CredentialRecords, CredentialServices } from '@agentmesh/agent/internal';
import {
  AsyncDisposableStack,
  assertOptions,
  keys as keysOf,
  type OptionNames,
  type SecretBox,
} from '@agentmesh/protocol';
import { type ApiKeys, apiKeys } from './access/api-keys.ts';
import { type CallResults, callResults } from './calls/call-results.ts';
import { type JobRecords, jobRecords } from './calls/job-records.ts';
import { keepTime } from './connection/keep-time.ts';
import {
  type ConnectionOptions,
  connectionOptionNames,
  connectRedis,
  type RedisConnection,
} from './connection/redis-connection.ts';
import { credentialRecords } from './credentials/redis-credential-records.ts';
import { RedisCredentialService } from './credentials/redis-credential-service.ts';
import { RedisSignInService } from './credentials/redis-sign-in-service.ts';
import { type DataKeys, dataKeys } from './data-keys/data-keys.ts';
import { ensureFunctions } from './functions.ts';
import { type CallerKeys, callerKeys } from './identity/caller-keys.ts';
import { type RepeatedRequests, repeatedRequests } from './limits/repeated-requests.ts';
import { type RequestLimits, requestLimits } from './limits/request-limits.ts';
import { type RunQuotas, runQuotas } from './limits/run-quotas.ts';
import { MemoryVectors } from './memory/memory-vectors.ts';
import { RedisMemoryService } from './memory/redis-memory-service.ts';
import { appState } from './sessions/app-state.ts';
import { RedisSessionService } from './sessions/redis-session-service.ts';
import type { RetentionOf } from './sessions/scripts/retention.ts';

export interface RedisStoreOptions extends ConnectionOptions {
  /** First part of every key; default `am`. */
  prefix?: string;
  /** Seals credentials; without it the store keeps no credentials. */
  box?: SecretBox;
  /**
   * Time for which an invocation's record is kept after its last write (default 24 h) and after its end
   * (default 1 h), ms.
   */
  invocationTtlMs?: { running?: number; ended?: number };
  memory?: MemoryOptions;
  /**
   * The time for which sessions of an app are kept, and the number of their events; default: all, for ever.
   */
  retention?: RetentionOf;
  /** Called once, when the clock of this process is off; with the ms by which it is ahead of Redis. */
  onSkew?: (aheadMs: number) => void;
}

export interface MemoryOptions {
  /** Time for which a memory is kept after it was added, ms; default: for ever. */
  ttlMs?: number;
  /** Makes vectors, so that memories are also found by meaning; without it they are found by words only. */
  embedder?: Embedder;
  /** Smallest cosine of a memory that is near in meaning, -1 to 1; default 0.5. */
  minSimilarity?: number;
  /** Pause after a failure of the embedder, ms; default 10 s. */
  restMs?: number;
  /** Called when the embedder fails. */
  onWarning?: (error: unknown) => void;
}

/** All that the mesh keeps in Redis. */
export interface RedisStore extends AsyncDisposable {
  readonly sessions: SessionService;
  readonly callResults: CallResults;
  readonly jobs: JobRecords;
  readonly memory: MemoryService;
  /** Absent without a box to seal them. */
  readonly credentials?: CredentialServices;
  /** The descriptions of the credentials; present without a box too. */
  readonly credentialRecords: CredentialRecords;
  /** The data keys of users, for keepers. */
  readonly dataKeys: DataKeys;
  /** The API keys of the gateways. */
  readonly apiKeys: ApiKeys;
  /** The public keys by which the identities of callers are checked. */
  readonly callerKeys: CallerKeys;
  /** The limits of callers, counted over all gateways. */
  readonly requestLimits: RequestLimits;
  /** The requests that clients of the gateways may send again. */
  readonly repeatedRequests: RepeatedRequests;
  /** The runs and the tokens of callers, users and apps, counted over all gateways. */
  readonly runQuotas: RunQuotas;
  /** Checks that Redis answers. @throws MeshError `unavailable` when Redis does not answer within 2 s */
  ping(): Promise<void>;
  /**
   * Applies `app:` state that a process committed for this user without applying it before it died. Every use
   * of the user's sessions does the same.
   */
  sweep(user: { appName: string; userId: string }): Promise<void>;
}

const memoryNames: OptionNames<MemoryOptions> = {
  ttlMs: true,
  embedder: true,
  minSimilarity: true,
  restMs: true,
  onWarning: true,
};
const optionNames: OptionNames<RedisStoreOptions> = {
  ...connectionOptionNames,
  prefix: true,
  box: true,
  invocationTtlMs: true,
  memory: true,
  retention: true,
  onSkew: true,
};

const hour = 3_600_000;

/**
 * Connects to Redis. When the server is unreachable later, calls are repeated for `timeoutMs`, which outlasts
 * a restart and most failovers, and then throw `unavailable`.
 *
 * Redis has the scripts as functions. The store loads them if its user may; else the provisioning step must
 * have loaded them.
 *
 * @throws MeshError at once: `invalid_argument` for the url or an unknown option, `unavailable` when nothing
 * answers or functions are missing, `unauthenticated` for the password, `failed_precondition` for a Redis that
 * is older than 7.0
 */
export async function connectRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  assertOptions('connectRedisStore', options ?? null, optionNames);
  assertOptions('connectRedisStore: memory', options.memory, memoryNames);
  await using owners = new AsyncDisposableStack();
  const connection = owners.use(await connectRedis(options));
  await ensureFunctions(connection);
  owners.use(await keepTime(connection, options.onSkew));
  const owned = owners.move();
  return { ...storeOn(connection, options), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Makes the store on a connection. The store closes the connection when it is disposed. */
export function storeOn(
  connection: RedisConnection,
  options: Omit<RedisStoreOptions, keyof ConnectionOptions>,
): RedisStore {
  const keys = keysOf(options.prefix);
  const { running = 24 * hour, ended = hour } = options.invocationTtlMs ?? {};
  const app = appState(connection, keys);
  const { box, memory: { embedder, ...memory } = {} } = options;
  const vectors = embedder && new MemoryVectors({ ...memory, embedder });
  const sealedStore = box && { connection, keys, box };
  return {
    ...(sealedStore && {
      credentials: {
        credentialService: new RedisCredentialService(sealedStore),
        signInService: new RedisSignInService(sealedStore),
      },
    }),
    sessions: new RedisSessionService({
      connection,
      keys,
      app,
      invocationTtlMs: { running, ended },
      ...(options.retention && { retention: options.retention }),
    }),
    credentialRecords: credentialRecords(connection, keys),
    dataKeys: dataKeys(connection, keys),
    apiKeys: apiKeys(connection, keys),
    requestLimits: requestLimits(connection, keys),
    repeatedRequests: repeatedRequests(connection, keys),
    runQuotas: runQuotas(connection, keys),
    callerKeys: callerKeys(connection, keys),
    callResults: callResults(connection, keys),
    jobs: jobRecords(connection, keys),
    memory: new RedisMemoryService({ connection, keys, vectors, ttlMs: memory.ttlMs }),
    ping: () => connection.ping(),
    sweep: ({ appName, userId }) => app.sweep(appName, userId),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

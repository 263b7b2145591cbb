import type { Embedder, MemoryService, SessionService } from '@agentmesh/agent';
import type { CredentialRecords, CredentialServices } from '@agentmesh/agent/internal';
import { assertOptions, keys as keysOf, type OptionNames, type SecretBox } from '@agentmesh/protocol';
import { type CallResults, callResults } from './calls/call-results.ts';
import { type JobRecords, jobRecords } from './calls/job-records.ts';
import {
  type ConnectionOptions,
  connectionOptionNames,
  connectRedis,
  type RedisConnection,
} from './connection/redis-connection.ts';
import { credentialRecords } from './credentials/redis-credential-records.ts';
import { RedisCredentialService } from './credentials/redis-credential-service.ts';
import { RedisSignInService } from './credentials/redis-sign-in-service.ts';
import { MemoryVectors } from './memory/memory-vectors.ts';
import { RedisMemoryService } from './memory/redis-memory-service.ts';
import { appState } from './sessions/app-state.ts';
import { RedisSessionService } from './sessions/redis-session-service.ts';
import type { RetentionOf } from './sessions/retention.ts';

export interface RedisStoreOptions extends ConnectionOptions {
  /** Before every key; default `am`. */
  prefix?: string;
  /** Seals credentials; without it none are kept. */
  box?: SecretBox;
  /** How long an invocation's record outlives its last write (default 24 h) and its end (default 1 h), ms. */
  invocationTtlMs?: { running?: number; ended?: number };
  memory?: MemoryOptions;
  /** How long sessions of an app are kept, and how much of them; default all, for ever. */
  retention?: RetentionOf;
}

export interface MemoryOptions {
  /** How long a memory is kept after it was added, ms; default for ever. */
  ttlMs?: number;
  /** Finds memories by their meaning too; without it by their words alone. */
  embedder?: Embedder;
  /** Cosine from which on a memory is near in meaning, -1 to 1; default 0.5. */
  minSimilarity?: number;
  /** How long an embedder that has failed is left alone, ms; default 10 s. */
  restMs?: number;
  /** Told when the embedder fails. */
  onWarning?: (error: unknown) => void;
}

/** What the mesh keeps in Redis. */
export interface RedisStore extends AsyncDisposable {
  readonly sessions: SessionService;
  readonly callResults: CallResults;
  readonly jobs: JobRecords;
  readonly memory: MemoryService;
  /** Absent without a box to seal them. */
  readonly credentials?: CredentialServices;
  /** What credentials are for; there without a box too. */
  readonly credentialRecords: CredentialRecords;
  /** @throws MeshError `unavailable` when Redis does not answer now, within 2 s */
  ping(): Promise<void>;
  /** Applies `app:` state that a process committed for this user and died before applying; every use of the user's sessions does too. */
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
};

const hour = 3_600_000;

/**
 * Connects to Redis. While the server is away later, calls try for `timeoutMs`, which outlasts a restart and most failovers, and then throw
 * `unavailable`.
 *
 * @throws MeshError at once: `invalid_argument` for the url or an unknown option, `unavailable` when nothing answers, `unauthenticated` for the password
 */
export async function connectRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  assertOptions('connectRedisStore', options ?? null, optionNames);
  assertOptions('connectRedisStore: memory', options.memory, memoryNames);
  return storeOn(await connectRedis(options), options);
}

/** The store on a connection, which it closes at its end. */
export function storeOn(
  connection: RedisConnection,
  options: Omit<RedisStoreOptions, keyof ConnectionOptions>,
): RedisStore {
  const keys = keysOf(options.prefix);
  const { running = 24 * hour, ended = hour } = options.invocationTtlMs ?? {};
  const app = appState(connection, keys);
  const { box, memory: { embedder, ...memory } = {} } = options;
  const vectors = embedder && new MemoryVectors({ ...memory, embedder });
  const sealed = box && { connection, keys, box };
  return {
    ...(sealed && {
      credentials: {
        credentialService: new RedisCredentialService(sealed),
        signInService: new RedisSignInService(sealed),
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
    callResults: callResults(connection, keys),
    jobs: jobRecords(connection, keys),
    memory: new RedisMemoryService({ connection, keys, vectors, ttlMs: memory.ttlMs }),
    ping: () => connection.ping(),
    sweep: ({ appName, userId }) => app.sweep(appName, userId),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

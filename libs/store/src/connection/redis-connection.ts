import { setTimeout as pause } from 'node:timers/promises';
import { MeshError, type OptionNames } from '@agentmesh/protocol';
import type { Redis } from 'ioredis';
import { libraryOf, type Script } from '../scripts/script.ts';
import { fromRedis, isMissingFunction, isPassing, isReply, missingFunctions } from './redis-errors.ts';
import { createLink, type RedisClient, type RedisLink } from './redis-link.ts';
import { type ReplicatedWrites, replicatedWrites } from './replicated-writes.ts';

export interface ConnectionOptions {
  /**
   * One server: `redis://user:password@host:6379/0`. A Redis Cluster:
   * `redis+cluster://user:password@h1:6379,h2:6379`; one host that answers is enough. Through Sentinels:
   * `redis+sentinel://user:password@h1:26379,h2:26379/primary`. With TLS the scheme begins with `rediss`.
   */
  url: string;
  /**
   * File with the certificates, in PEM, that vouch for a server with TLS; default: the certificates that
   * Node.js trusts.
   */
  caFile?: string | undefined;
  /**
   * Number of replicas that must have a write before it counts as done; default 0. With 0, writes that were
   * acknowledged just before the promotion of a replica may be lost.
   */
  waitReplicas?: number | undefined;
  /** Time limit of one call, over restarts and failovers of the server, ms; default 5,000. */
  timeoutMs?: number;
  /** The name that `CLIENT LIST` shows. */
  connectionName?: string;
  /** Called for every failure of the connection, which is then made again. */
  onError?: (error: Error) => void;
}

export const connectionOptionNames: OptionNames<ConnectionOptions> = {
  url: true,
  caFile: true,
  waitReplicas: true,
  timeoutMs: true,
  connectionName: true,
  onError: true,
};

/** The longest time of a scan of all keys, in ms. */
const scanMs = 120_000;

/** A command on one server. */
type Write<T> = (redis: RedisClient) => Promise<T>;

/**
 * One connection, which is made again when it breaks. Calls in the meantime are repeated until they time out.
 */
export interface RedisConnection extends AsyncDisposable {
  /** True where one server has all keys: one script may then have keys of several slots. */
  readonly isOneServer: boolean;
  /**
   * Runs a command on one key. The command only reads, or its loss in a failover does no harm; it may safely
   * run twice.
   *
   * @throws MeshError `unavailable` when the server did not answer in time: whether the command ran is then
   * unknown
   */
  run<T>(command: (redis: RedisClient) => Promise<T>): Promise<T>;
  /**
   * Reads this key for a client of the mesh. Waits, as the options say, until the replicas have everything that
   * the server had when it answered: no failover takes back what the client was told.
   */
  read<T>(key: string, command: Write<T>): Promise<T>;
  /** Runs a command that writes this key: waits for replicas as the options say. Otherwise as {@link run}. */
  write<T>(key: string, command: Write<T>): Promise<T>;
  /**
   * Runs a script as {@link write} runs a command. Its keys, one at least, lie in one slot. Loads the script
   * when Redis does not have it, if this user may.
   *
   * @throws MeshError `unavailable` when Redis does not have the script and this user may not load it
   */
  script<T>(script: Script, keys: string[], args: (string | number)[]): Promise<T>;
  /**
   * Loads scripts as functions into each server that takes writes. Their replicas get them as they get other
   * writes. Functions that are there already stay.
   *
   * @throws MeshError `unavailable` when this user may not load functions
   */
  load(scripts: readonly Script[]): Promise<void>;
  /**
   * Returns the keys of all servers that match a pattern. The work grows with the number of all keys; it is for
   * operators.
   *
   * @throws MeshError `permission_denied` for a user that may not scan, `unavailable`
   */
  keysLike(pattern: string): Promise<string[]>;
  ping(): Promise<void>;
}

/**
 * Connects to Redis. @throws MeshError `invalid_argument`, `unavailable` or `unauthenticated`, at once, if
 * the first connection fails
 */
export async function connectRedis(options: ConnectionOptions): Promise<RedisConnection> {
  const { timeoutMs = 5_000, waitReplicas = 0, onError, connectionName = 'agentmesh' } = options;
  let lastError: Error | undefined;
  let open = true;
  const link = createLink({
    url: options.url,
    caFile: options.caFile,
    connectionName,
    onError(error) {
      // A reply of the server explains more than the closed connection that follows it.
      if (!isReply(lastError) || isReply(error)) lastError = error;
      onError?.(error);
    },
  });
  await link.connect().catch((error: unknown) => Promise.reject(fromRedis(lastError ?? error)));

  async function tryUntilDone<T>(attempt: (until: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    // A reply of the server explains more than the failure to reach it while the connection is made again.
    let refusal: Error | undefined;
    for (;;) {
      try {
        const remainingMs = Math.max(deadline - performance.now(), 1);
        const result = await unlessLate(remainingMs, attempt(deadline - 50));
        lastError = undefined;
        return result;
      } catch (error) {
        if (!open)
          throw new MeshError('unavailable', 'the store is closed', {
            details: { closed: true },
            cause: error,
          });
        if (isReply(error)) refusal = error;
        if (!isPassing(error) || performance.now() + 50 >= deadline)
          throw fromRedis(refusal ?? error, lastError);
        link.lookAgain();
        await pause(50);
      }
    }
  }

  const run: RedisConnection['run'] = (command) =>
    tryUntilDone(() => {
      link.joinWrites();
      return command(link.client);
    });
  const replicated = waitReplicas === 0 ? undefined : replicatedOn(link, waitReplicas);
  const write: RedisConnection['write'] = (key, command) =>
    replicated
      ? tryUntilDone((until) => {
          link.joinWrites();
          return replicated(key, command, until);
        })
      : run(command);

  return {
    isOneServer: link.isOneServer,
    run,
    // WAIT counts from the last command of its connection, whether that command wrote or not.
    read: write,
    write,
    script: (script, keys, args) =>
      write(keys[0] ?? '', async (client) => {
        try {
          return await runFunction(client, script, [keys.length, ...keys, ...args]);
        } catch (error) {
          if (!isMissingFunction(error)) throw error;
          await loadInto(link, [script]);
          throw new Error('redis did not have the function', { cause: error });
        }
      }),
    load: (scripts) => tryUntilDone(() => loadInto(link, scripts)),
    keysLike: (pattern) =>
      unlessLate(scanMs, scanAll(link, pattern)).catch((error: unknown) =>
        Promise.reject(fromRedis(error, lastError)),
      ),
    ping: async () => {
      await link.ping().catch((error: unknown) => Promise.reject(fromRedis(error, lastError)));
    },
    async [Symbol.asyncDispose]() {
      if (!open) return;
      open = false;
      await link.close();
    },
  };
}

/**
 * Returns a function that writes on the connection to the server with the key, so that WAIT on the same
 * connection counts the replicas that have the write.
 */
function replicatedOn(link: RedisLink, replicas: number) {
  const writes = new WeakMap<Redis, ReplicatedWrites>();
  const carryOut = async <T>(redis: Redis | undefined, command: Write<T>, until: number) => {
    if (!redis) throw new Error('no server of the cluster has the key now');
    const server = writes.get(redis) ?? replicatedWrites(redis, replicas);
    writes.set(redis, server);
    return await server.carryOut(command, until);
  };
  return async <T>(key: string, command: Write<T>, until: number): Promise<T> => {
    try {
      return await carryOut(await link.serverOf(key), command, until);
    } catch (error) {
      const asking = isReply(error) ? /^ASK \d+ (\S+)/.exec(error.message)?.[1] : undefined;
      if (asking === undefined) throw error;
      const redis = await link.serverOf(key, asking);
      return await carryOut(redis, (server) => askingFirst(server, command), until);
    }
  };
}

/**
 * Runs a command after ASKING: the slot is being moved to this server, which takes only the next command on
 * it.
 */
async function askingFirst<T>(redis: RedisClient, command: Write<T>): Promise<T> {
  // Both are sent at once and answered in this order.
  const askingReply = redis.asking();
  const [, result] = await Promise.all([askingReply, command(redis)]);
  return result;
}

async function runFunction<T>(
  redis: RedisClient,
  { name, effect }: Script,
  args: (string | number)[],
): Promise<T> {
  // A user that may only read a key may pass it to FCALL_RO alone.
  return (await redis.call(effect === 'reads' ? 'FCALL_RO' : 'FCALL', [name, ...args])) as T;
}

async function scanAll(link: RedisLink, pattern: string): Promise<string[]> {
  const found = await Promise.all(
    link.primaries().map(async (redis) => {
      const keys: string[] = [];
      for await (const page of redis.scanStream({ match: pattern, count: 1_000 })) keys.push(...page);
      return keys;
    }),
  );
  // A scan may return a key twice.
  return [...new Set(found.flat())];
}

async function loadInto(link: RedisLink, scripts: readonly Script[]): Promise<void> {
  await Promise.all(
    link.primaries().flatMap((redis) =>
      scripts.map(async (script) => {
        try {
          await redis.call('FUNCTION', ['LOAD', libraryOf(script)]);
        } catch (error) {
          // Another process was faster.
          if (isReply(error) && /already exists/.test(error.message)) return;
          throw isReply(error) && error.message.startsWith('NOPERM') ? missingFunctions(error) : error;
        }
      }),
    ),
  );
}

/** Waits for work until the time limit, then rejects. */
async function unlessLate<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${Math.round(ms)} ms`)), ms);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

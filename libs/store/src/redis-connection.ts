import { setTimeout as pause } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import { Redis } from 'ioredis';
import { fromRedis, isPassing, isReply } from './redis-errors.ts';
import type { Script } from './scripts.ts';

export interface ConnectionOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  url: string;
  /** How long one call tries, over restarts and failovers of the server, ms; default 5,000. */
  timeoutMs?: number;
  /** Shown by `CLIENT LIST`. */
  connectionName?: string;
  /** Told of every failure of the connection, which then is made anew. */
  onError?: (error: Error) => void;
}

/** One connection, made anew when it breaks; what is called meanwhile is tried again until it times out. */
export interface RedisConnection extends AsyncDisposable {
  /**
   * Runs a command that may safely run twice. @throws MeshError `unavailable` when the server did not answer in time: whether the command
   * ran is then unknown
   */
  run<T>(command: (redis: Redis) => Promise<T>): Promise<T>;
  /** As {@link run}, for a script. */
  script<T>(script: Script, keys: string[], args: (string | number)[]): Promise<T>;
  ping(): Promise<void>;
}

const commandTimeoutMs = 2_000;

/** @throws MeshError `invalid_argument`, `unavailable` or `unauthenticated`, at once, if the first connection fails */
export async function connectRedis(options: ConnectionOptions): Promise<RedisConnection> {
  const { timeoutMs = 5_000, onError } = options;
  let open = false;
  let lastError: Error | undefined;
  const redis = new Redis(checkedUrl(options.url), {
    lazyConnect: true,
    connectTimeout: 3_000,
    commandTimeout: commandTimeoutMs,
    // A connection that swallows everything (a partition, a frozen server) is given up, not waited for.
    socketTimeout: 2 * commandTimeoutMs,
    // We try again ourselves: a command that waited in a queue would run after its caller was told that it failed.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => (open ? Math.min(25 * 2 ** attempt, 500) * (0.5 + Math.random() / 2) : null),
    reconnectOnError: ({ message }) => message.includes('READONLY'),
    connectionName: options.connectionName ?? 'agentmesh',
  });
  redis.on('error', (error: Error) => {
    lastError = error;
    onError?.(error);
  });
  redis.on('ready', () => {
    lastError = undefined;
  });
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    const cause = lastError ?? error;
    throw fromRedis(cause);
  }
  open = true;

  async function run<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    // What the server said tells more than that it cannot be reached while we reconnect because of it.
    let refusal: Error | undefined;
    for (;;) {
      const left = deadline - performance.now();
      try {
        return await within(left, command(redis));
      } catch (error) {
        if (!open) throw new MeshError('unavailable', 'the store is closed', { cause: error });
        if (isReply(error)) refusal = error;
        if (!isPassing(error) || performance.now() + 50 >= deadline)
          throw fromRedis(refusal ?? error, lastError);
        await pause(50);
      }
    }
  }

  async function close(): Promise<void> {
    if (!open) return;
    open = false;
    // What was sent is answered before the goodbye is; a server that is away is not waited for.
    await redis.quit().catch(() => {});
    redis.disconnect();
  }

  return {
    run,
    script: (script, keys, args) =>
      run((client) => runScript(client, script, [keys.length, ...keys, ...args])),
    ping: async () => {
      await redis.ping().catch((error: unknown) => Promise.reject(fromRedis(error, lastError)));
    },
    [Symbol.asyncDispose]: close,
  };
}

/** A server that was restarted, or that took over, does not know our scripts. */
async function runScript<T>(redis: Redis, { sha, source }: Script, args: (string | number)[]): Promise<T> {
  try {
    return (await redis.call('EVALSHA', [sha, ...args])) as T;
  } catch (error) {
    if (isReply(error) && error.message.startsWith('NOSCRIPT')) {
      return (await redis.call('EVAL', [source, ...args])) as T;
    }
    throw error;
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${Math.round(ms)} ms`)), ms);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function checkedUrl(url: string): string {
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol === 'redis:' || protocol === 'rediss:') return url;
  // The url is not shown: it may hold a password.
  throw new MeshError('invalid_argument', 'the url of redis must look like redis://user:password@host:6379');
}

import { readFileSync } from 'node:fs';
import { MeshError, parseRedisUrl, type RedisAddress } from '@agentmesh/protocol';
import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import { watchSentinels } from './sentinel-watch.ts';

export interface LinkOptions {
  url: string;
  /**
   * Certificates, in PEM, that vouch for a server with TLS; default: the certificates that Node.js trusts.
   */
  caFile?: string | undefined;
  connectionName: string;
  onError(error: Error): void;
}

/** A client of Redis of any kind: single-key commands and scripts are the same on both. */
export type RedisClient = Redis | Cluster;

/** The client, with the operations that differ between one server, Sentinel and a cluster. */
export interface RedisLink {
  isOneServer: boolean;
  readonly client: RedisClient;
  /** Connects, trying once. Later the client connects again by itself. */
  connect(): Promise<void>;
  /**
   * Returns the connection to the server that has a key, as far as it is known. With `asking`, returns the
   * connection to the server whose address an ASK reply names.
   */
  serverOf(key: string, asking?: string): Promise<Redis | undefined>;
  /** Returns the connections to all servers that take writes. */
  primaries(): Redis[];
  /**
   * Sends all commands that follow in this turn of the event loop by one write to each server: a write costs
   * more than a command.
   */
  joinWrites(): void;
  /** Starts to find out which server has which keys, after a command failed. */
  lookAgain(): void;
  /** Asks a server for a sign of life: of a cluster, any of its servers. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

const commandTimeoutMs = 2_000;

/** Makes a link. @throws MeshError `invalid_argument` for the url or the file of certificates */
export function createLink(options: LinkOptions): RedisLink {
  const address = parseRedisUrl(options.url);
  const life = { isOpen: false };
  const retry = (attempt: number) =>
    life.isOpen ? Math.min(25 * 2 ** attempt, 500) * (0.5 + Math.random() / 2) : null;
  const settings = settingsOf(address, options);
  return address.kind === 'cluster'
    ? clusterLink(createCluster(address, settings, retry), options, life)
    : serverLink(createRedis(address, settings, retry), address, options, life);
}

type Retry = (attempt: number) => number | null;
type Life = { isOpen: boolean };

function settingsOf(address: RedisAddress, { caFile, connectionName }: LinkOptions): RedisOptions {
  const tls = address.tls ? { tls: caFile === undefined ? {} : { ca: certificatesOf(caFile) } } : {};
  if (caFile !== undefined && !address.tls) {
    throw new MeshError(
      'invalid_argument',
      'a file of certificates is for redis with TLS; begin the url with rediss',
    );
  }
  return {
    ...tls,
    ...(address.username !== undefined && { username: address.username }),
    ...(address.password !== undefined && { password: address.password }),
    connectionName,
    // It would send a command of Redis 7.2, which the access rules of older servers cannot name.
    disableClientInfo: true,
    connectTimeout: 3_000,
    commandTimeout: commandTimeoutMs,
    // A connection without any reply (a partition, a frozen server) is given up.
    socketTimeout: 2 * commandTimeoutMs,
    // Calls are repeated by our own code: a command that waited in a queue would run after its caller was
    // told that it failed.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  };
}

function certificatesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new MeshError(
      'invalid_argument',
      `the certificates of redis cannot be read from ${file}; correct the path`,
      { cause },
    );
  }
}

function createRedis(address: RedisAddress, settings: RedisOptions, retryStrategy: Retry): Redis {
  const { kind, hosts, db, primary = '', sentinelUsername, sentinelPassword } = address;
  const server = {
    ...settings,
    db,
    retryStrategy,
    lazyConnect: true,
    enableOfflineQueue: false,
    // The server was a primary and is not a primary any more: the connection is made again, through Sentinel,
    // to the new primary.
    reconnectOnError: ({ message }: Error) => message.includes('READONLY'),
  };
  if (kind === 'single') return new Redis({ ...server, ...hosts[0] });
  return new Redis({
    ...server,
    sentinels: hosts,
    name: primary,
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: 1_000,
    connectTimeout: 1_500,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(settings.tls && { enableTLSForSentinelMode: true, sentinelTLS: settings.tls }),
  });
}

function createCluster(address: RedisAddress, settings: RedisOptions, retry: Retry): Cluster {
  return new Cluster(address.hosts, {
    lazyConnect: true,
    redisOptions: { ...settings, connectTimeout: 1_500 },
    clusterRetryStrategy: retry,
    enableOfflineQueue: false,
    // The check asks whether the whole cluster is well. A part may be well, and replies to each command
    // itself.
    enableReadyCheck: false,
    slotsRefreshInterval: 5_000,
    // The client follows MOVED and ASK; our own code repeats all other failures, within the time limit of the
    // call.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Certificates hold names, and nodes may be announced by name.
    ...(address.tls && { dnsLookup: (host, callback) => callback(null, host) }),
  });
}

function serverLink(redis: Redis, address: RedisAddress, { onError }: LinkOptions, life: Life): RedisLink {
  let sentinelError: Error | undefined;
  redis.on('sentinelError', (error: Error) => {
    sentinelError = explainedError(error);
    onError(sentinelError);
  });
  // After the client has asked all Sentinels, it reports that all are unreachable, even if they replied with
  // errors.
  redis.on('error', (error) =>
    onError(error.message.startsWith('All sentinels') && sentinelError ? sentinelError : error),
  );
  let watch: Disposable | undefined;
  return {
    isOneServer: true,
    client: redis,
    async connect() {
      await opened(redis, life);
      if (address.kind === 'sentinel') watch = watchSentinels(redis, address, redis.options.tls);
    },
    serverOf: async () => redis,
    primaries: () => [redis],
    joinWrites: () => joinWrites(redis),
    lookAgain: () => {},
    ping: () => redis.ping(),
    async close() {
      watch?.[Symbol.dispose]();
      await closed(redis, life);
    },
  };
}

function clusterLink(cluster: Cluster, { onError }: LinkOptions, life: Life): RedisLink {
  cluster.on('error', onError);
  cluster.on('node error', onError);
  const primary = (address: string | undefined) =>
    cluster.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === address);
  return {
    isOneServer: false,
    client: cluster,
    connect: () => opened(cluster, life),
    async serverOf(key, asking) {
      if (asking === undefined) return primary(cluster.slots[slotOf(key)]?.[0]);
      // The client connects to a node without slots only when a command is sent there.
      if (!primary(asking)) await cluster.exists(key);
      return primary(asking);
    },
    primaries: () => cluster.nodes('master'),
    joinWrites: () => cluster.nodes('master').forEach(joinWrites),
    lookAgain: () => cluster.refreshSlotsCache(() => {}),
    ping: () => Promise.any([cluster.ping(), ...cluster.nodes('master').map((node) => node.ping())]),
    close: () => closed(cluster, life),
  };
}

/** Holds back the writes of a connection until the current turn of the event loop is over. */
function joinWrites({ stream }: Redis): void {
  // A connection that has never been open has no stream.
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function explainedError(error: Error): Error {
  if (!/No such master|invalid reply/.test(error.message)) return error;
  return new Error('no sentinel knows the primary that the url names', { cause: error });
}

function slotOf(key: string): number {
  return new Command('get', [key]).getSlot() ?? 0;
}

async function opened(client: RedisClient, life: Life): Promise<void> {
  try {
    await client.connect();
    life.isOpen = true;
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

async function closed(client: RedisClient, life: Life): Promise<void> {
  life.isOpen = false;
  // Replies to earlier commands come before the reply to QUIT; an unreachable server is not waited for.
  await client.quit().catch(() => {});
  client.disconnect();
}

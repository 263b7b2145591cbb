import { readFileSync } from 'node:fs';
import { MeshError, parseRedisUrl, type RedisAddress } from '@agentmesh/protocol';
import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import { watchSentinels } from './sentinel-watch.ts';

export interface LinkOptions {
  url: string;
  /** Certificates, in PEM, that vouch for a server with TLS; default those that Node.js trusts. */
  caFile?: string | undefined;
  connectionName: string;
  onError(error: Error): void;
}

/** A client of Redis of any kind: single-key commands and scripts are the same on both. */
export type RedisClient = Redis | Cluster;

/** The client, and what differs between one server, Sentinel and a cluster. */
export interface RedisLink {
  readonly client: RedisClient;
  /** Tries once. Later the client connects anew by itself. */
  connect(): Promise<void>;
  /** The connection to the server that has a key, as far as is known now; `asking`: to the one of that address that an ASK names. */
  serverOf(key: string, asking?: string): Promise<Redis | undefined>;
  /** A command failed: who has what is found out anew. */
  lookAgain(): void;
  /** One server, of a cluster any, answers now. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

const commandTimeoutMs = 2_000;

/** @throws MeshError `invalid_argument` for the url or the file of certificates */
export function createLink(options: LinkOptions): RedisLink {
  const address = parseRedisUrl(options.url);
  const life = { isOpen: false };
  const again = (attempt: number) =>
    life.isOpen ? Math.min(25 * 2 ** attempt, 500) * (0.5 + Math.random() / 2) : null;
  const settings = settingsOf(address, options);
  return address.kind === 'cluster'
    ? clusterLink(createCluster(address, settings, again), options, life)
    : serverLink(createRedis(address, settings, again), address, options, life);
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
    // A command of Redis 7.2, which access rules of older ones cannot name.
    disableClientInfo: true,
    connectTimeout: 3_000,
    commandTimeout: commandTimeoutMs,
    // A connection that swallows everything (a partition, a frozen server) is given up, not waited for.
    socketTimeout: 2 * commandTimeoutMs,
    // We try again ourselves: a command that waited in a queue would run after its caller was told that it failed.
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
      `the certificates of redis cannot be read from ${file}; mend the path`,
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
    // A primary that was demoted: the connection is made anew, through Sentinel to the one that was promoted.
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
    // Its answer is whether the whole cluster is well; a part may be, and says so to each command itself.
    enableReadyCheck: false,
    slotsRefreshInterval: 5_000,
    // MOVED and ASK are followed; all else is tried again by us, within the time limit of the call.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Certificates are for names, and nodes may be called by one.
    ...(address.tls && { dnsLookup: (host, callback) => callback(null, host) }),
  });
}

function serverLink(redis: Redis, address: RedisAddress, { onError }: LinkOptions, life: Life): RedisLink {
  let ofSentinel: Error | undefined;
  redis.on('sentinelError', (error: Error) => {
    ofSentinel = understood(error);
    onError(ofSentinel);
  });
  // After all of them were asked, the client says that all are unreachable, whatever they have said.
  redis.on('error', (error) =>
    onError(error.message.startsWith('All sentinels') && ofSentinel ? ofSentinel : error),
  );
  let watch: Disposable | undefined;
  return {
    client: redis,
    async connect() {
      await opened(redis, life);
      if (address.kind === 'sentinel') watch = watchSentinels(redis, address, redis.options.tls);
    },
    serverOf: async () => redis,
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
    client: cluster,
    connect: () => opened(cluster, life),
    async serverOf(key, asking) {
      if (asking === undefined) return primary(cluster.slots[slotOf(key)]?.[0]);
      // The client meets a node that has no slot yet only when a command of its own is sent there.
      if (!primary(asking)) await cluster.exists(key);
      return primary(asking);
    },
    lookAgain: () => cluster.refreshSlotsCache(() => {}),
    ping: () => Promise.any([cluster.ping(), ...cluster.nodes('master').map((node) => node.ping())]),
    close: () => closed(cluster, life),
  };
}

function understood(error: Error): Error {
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
  // What was sent is answered before the goodbye is; a server that is away is not waited for.
  await client.quit().catch(() => {});
  client.disconnect();
}

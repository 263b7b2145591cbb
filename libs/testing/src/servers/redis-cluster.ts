import { AsyncDisposableStack } from '@agentmesh/protocol';
import { Command, Redis } from 'ioredis';
import { freePort } from '../processes/free-port.ts';
import { until } from '../processes/wait.ts';
import { type Certificate, redisTlsArgs } from './certificate.ts';
import { startLocalRedis } from './local-programs.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

export interface RedisClusterOptions {
  /** The number of masters; default 3. */
  masters?: number;
  /** The number of replicas of each master; default 1. */
  replicas?: number;
  /** The silence after which a node counts as dead, in ms; default 1,500. */
  nodeTimeoutMs?: number;
  /** The certificate with which clients and nodes use TLS; default no TLS. */
  tls?: Certificate;
  /** The users of each redis-server, as lines of an ACL file. The default user keeps all rights. */
  users?: string | undefined;
  /** More arguments of each redis-server. */
  extraArgs?: string[];
}

/** A node of a cluster, which may be killed and started again; it keeps its data and its port. */
export interface RedisNode extends RestartableServer {
  /** The port for clients; with TLS it differs from `port`. */
  readonly clientPort: number;
  /** Sends a command to the node, without TLS: `['CLUSTER', 'INFO']`. */
  command(args: readonly (string | number)[]): Promise<unknown>;
}

export interface RedisCluster extends AsyncDisposable {
  /**
   * The addresses of all nodes: `redis+cluster://127.0.0.1:15001,127.0.0.1:15002`; `rediss+cluster` with TLS.
   */
  readonly url: string;
  /** All nodes, the first masters before their replicas. */
  readonly nodes: readonly RedisNode[];
  /** Returns the node that accepts writes of a key now. */
  primaryOf(key: string): Promise<RedisNode>;
  /** Waits until all slots are served and all living replicas are connected to their primaries. */
  settled(): Promise<void>;
}

/**
 * Starts Redis servers that form a cluster, on loopback ports. Always uses the local `redis-server`.
 *
 * @throws Error that says what to install, or with the error of a server
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 1, nodeTimeoutMs = 1_500, tls, users, extraArgs = [] } = options;
  await using owners = new AsyncDisposableStack();
  const size = masters * (1 + replicas);
  const nodes = await Promise.all(
    Array.from({ length: size }, async () => {
      const { server, busPort, clientPort } = await startNode({ nodeTimeoutMs, tls, users, extraArgs });
      owners.use(server);
      return { node: nodeOf(server, clientPort), busPort };
    }),
  );
  const all = nodes.map(({ node }) => node);
  await form(nodes, masters);
  const settled = () => settledCluster(all);
  await settled();
  const running = owners.move();
  return {
    url: `redis${tls ? 's' : ''}+cluster://${all.map(({ host, clientPort }) => `${host}:${clientPort}`).join(',')}`,
    nodes: all,
    primaryOf: (key) => primaryOf(all, key),
    settled,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const portTaken = /address already in use/i;
/** The number of times that a node is started when another process has taken one of its ports. */
const maxStarts = 5;

type NodeOptions = Required<Pick<RedisClusterOptions, 'nodeTimeoutMs' | 'extraArgs'>> &
  Pick<RedisClusterOptions, 'tls' | 'users'>;

/** Starts a server of a cluster, with other ports when another process has taken one of them meanwhile. */
async function startNode({ nodeTimeoutMs, tls, users, extraArgs }: NodeOptions) {
  for (let starts = 1; ; starts += 1) {
    const busPort = await freePort();
    const secured = await securedArgs(tls, ['--tls-cluster', 'yes']);
    const args = [...clusterArgs(nodeTimeoutMs, busPort), ...secured.args, ...extraArgs];
    try {
      const server = await startRestartable((place) =>
        startLocalRedis({
          ...place,
          ...(users !== undefined && { users }),
          appendOnly: true,
          extraArgs: args,
        }),
      );
      return { server, busPort, clientPort: secured.port };
    } catch (error) {
      if (starts === maxStarts || !portTaken.test(String(error))) throw error;
    }
  }
}

function clusterArgs(nodeTimeoutMs: number, busPort: number): string[] {
  return Object.entries({
    'cluster-enabled': 'yes',
    'cluster-node-timeout': nodeTimeoutMs,
    // The default is the port plus 10,000, which is in the range of outgoing connections.
    'cluster-port': busPort,
    'cluster-replica-validity-factor': 0,
    'cluster-allow-replica-migration': 'no',
    ...quickReplication,
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/**
 * The settings for fast replication. By default a primary waits for five seconds before it sends its data to
 * a new replica.
 */
export const quickReplication = { 'repl-diskless-sync-delay': 0, 'repl-ping-replica-period': 1 };

/**
 * Returns the arguments of a server with a second port for TLS, which it also uses for replication; none
 * without a certificate.
 */
export async function securedArgs(
  tls: Certificate | undefined,
  more: string[],
): Promise<{ args: string[]; port: number | undefined }> {
  if (!tls) return { args: [], port: undefined };
  const port = await freePort();
  return { args: [...redisTlsArgs(tls, port), '--tls-replication', 'yes', ...more], port };
}

/** Adds a method for commands to a server. */
export function nodeOf(server: RestartableServer, clientPort = server.port): RedisNode {
  const command: RedisNode['command'] = async ([name = '', ...args]) => {
    const redis = new Redis(server.port, server.host, {
      retryStrategy: null,
      lazyConnect: true,
      commandTimeout: 5_000,
    });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return await redis.call(String(name), args);
    } finally {
      redis.disconnect();
    }
  };
  return Object.assign(Object.create(server) as RestartableServer, {
    command,
    clientPort,
    // The methods keep the server as their object. A spread would copy the current values of its getters.
    kill: () => server.kill(),
    start: () => server.start(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

async function form(nodes: { node: RedisNode; busPort: number }[], masters: number): Promise<void> {
  for (const [at, { node }] of nodes.entries()) {
    await node.command(['CLUSTER', 'SET-CONFIG-EPOCH', at + 1]);
    if (at >= masters) continue;
    const first = Math.ceil((16_384 * at) / masters);
    await node.command(['CLUSTER', 'ADDSLOTSRANGE', first, Math.ceil((16_384 * (at + 1)) / masters) - 1]);
  }
  const [first, ...others] = nodes;
  for (const { node, busPort } of others) {
    await first?.node.command(['CLUSTER', 'MEET', node.host, node.port, busPort]);
  }
  for (const { node } of nodes) {
    const know = async () => (await infoOf(node)).includes(`cluster_known_nodes:${nodes.length}\r`);
    await until(know, { what: 'the nodes to know each other' });
  }
  for (const [at, { node }] of nodes.entries()) {
    if (at < masters) continue;
    const id = String(await nodes[at % masters]?.node.command(['CLUSTER', 'MYID']));
    // The node may not know yet that the other node is a master.
    await until(async () => (await node.command(['CLUSTER', 'REPLICATE', id])) === 'OK');
  }
}

async function infoOf(node: RedisNode): Promise<string> {
  return String(await node.command(['CLUSTER', 'INFO']));
}

async function living(nodes: readonly RedisNode[]): Promise<RedisNode[]> {
  const answers = await Promise.allSettled(nodes.map((node) => node.command(['PING'])));
  return nodes.filter((_, at) => answers[at]?.status === 'fulfilled');
}

async function settledCluster(nodes: readonly RedisNode[]): Promise<void> {
  const inStep = async (node: RedisNode) => {
    const role = (await node.command(['ROLE'])) as unknown[];
    // A replica returns the host and port of its primary, and then the state of the replication.
    return role[0] === 'master' || role[3] === 'connected';
  };
  const looks = async () => {
    const up = await living(nodes);
    if (up.length === 0) return false;
    const states = await Promise.all(
      up.map(async (node) => (await infoOf(node)).includes('cluster_state:ok')),
    );
    return states.every(Boolean) && (await Promise.all(up.map(inStep))).every(Boolean);
  };
  await until(looks, { what: 'the cluster to be whole', timeoutMs: 30_000, intervalMs: 50 });
}

type SlotRange = [from: number, to: number, primary: [host: string, port: number]];

async function primaryOf(nodes: readonly RedisNode[], key: string): Promise<RedisNode> {
  const slot = new Command('get', [key]).getSlot() ?? 0;
  return await until(
    async () => {
      for (const node of await living(nodes)) {
        const ranges = (await node.command(['CLUSTER', 'SLOTS'])) as SlotRange[];
        const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
        const primary = nodes.find((each) => each.port === port);
        // For some moments nodes may still name a dead primary.
        if (primary && ((await primary.command(['ROLE'])) as unknown[])[0] === 'master') return primary;
      }
      return undefined;
    },
    { what: `a primary of ${key}`, timeoutMs: 20_000 },
  );
}

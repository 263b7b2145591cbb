import { Command, Redis } from 'ioredis';
import { freePort } from '../processes/free-port.ts';
import { until } from '../processes/wait.ts';
import { type Certificate, redisTlsArgs } from './certificate.ts';
import { startLocalRedis } from './local-programs.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

export interface RedisClusterOptions {
  /** Default 3. */
  masters?: number;
  /** Of each master; default 1. */
  replicas?: number;
  /** After how long without a sign a node is taken for dead, in ms; default 1,500. */
  nodeTimeoutMs?: number;
  /** Clients are to use TLS, and the nodes do among themselves. */
  tls?: Certificate;
  /** More arguments of each redis-server. */
  extraArgs?: string[];
}

/** A node of a cluster, which may be killed and started again; it keeps its data and its place. */
export interface RedisNode extends RestartableServer {
  /** The port that clients use: with TLS another one than `port`. */
  readonly clientPort: number;
  /** Sends it a command, without TLS: `['CLUSTER', 'INFO']`. */
  command(args: readonly (string | number)[]): Promise<unknown>;
}

export interface RedisCluster extends AsyncDisposable {
  /** `redis+cluster://127.0.0.1:15001,127.0.0.1:15002`, all nodes; `rediss+cluster` with TLS. */
  readonly url: string;
  /** The masters of the beginning first. */
  readonly nodes: readonly RedisNode[];
  /** The node that accepts writes of a key now. */
  primaryOf(key: string): Promise<RedisNode>;
  /** Waits until all slots are served, and each living primary has a replica that is in step if it has one that lives. */
  settled(): Promise<void>;
}

/**
 * Starts Redis servers that form a cluster, on loopback ports. Always by the local `redis-server`.
 *
 * @throws Error that says what to install, or holds a server's own complaint
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 1, nodeTimeoutMs = 1_500, tls, extraArgs = [] } = options;
  await using owners = new AsyncDisposableStack();
  const size = masters * (1 + replicas);
  const nodes = await Promise.all(
    Array.from({ length: size }, async () => {
      const busPort = await freePort();
      const secured = await securedArgs(tls, ['--tls-cluster', 'yes']);
      const args = [...clusterArgs(nodeTimeoutMs, busPort), ...secured.args, ...extraArgs];
      const server = owners.use(
        await startRestartable((place) => startLocalRedis({ ...place, appendOnly: true, extraArgs: args })),
      );
      return { node: nodeOf(server, secured.port), busPort };
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

function clusterArgs(nodeTimeoutMs: number, busPort: number): string[] {
  return Object.entries({
    'cluster-enabled': 'yes',
    'cluster-node-timeout': nodeTimeoutMs,
    // By itself it would be the port and 10,000, where outgoing connections are.
    'cluster-port': busPort,
    'cluster-replica-validity-factor': 0,
    'cluster-allow-replica-migration': 'no',
    ...quickReplication,
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** By default a primary waits for five seconds before it sends its data to a new replica. */
export const quickReplication = { 'repl-diskless-sync-delay': 0, 'repl-ping-replica-period': 1 };

/** Arguments of a server that takes TLS on a port of its own, and speaks it to its replicas; none without a certificate. */
export async function securedArgs(
  tls: Certificate | undefined,
  more: string[],
): Promise<{ args: string[]; port: number | undefined }> {
  if (!tls) return { args: [], port: undefined };
  const port = await freePort();
  return { args: [...redisTlsArgs(tls, port), '--tls-replication', 'yes', ...more], port };
}

/** A server with a way to send it commands. */
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
    // Methods of the server keep their own object; a plain spread would freeze what its getters give.
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
    // It may not have heard yet that the other is a master.
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
    // A replica names the host and port of its primary, and then how far it is.
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
        // Nodes may believe in one that is dead for some moments.
        if (primary && ((await primary.command(['ROLE'])) as unknown[])[0] === 'master') return primary;
      }
      return undefined;
    },
    { what: `a primary of ${key}`, timeoutMs: 20_000 },
  );
}

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireBinary } from '../processes/find-binary.ts';
import { until } from '../processes/wait.ts';
import type { Certificate } from './certificate.ts';
import { ask, startLocalRedis } from './local-programs.ts';
import { startLocalServer } from './local-server.ts';
import { nodeOf, quickReplication, type RedisNode, securedArgs } from './redis-cluster.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

export interface RedisSentinelOptions {
  /** Of the primary; default 1. */
  replicas?: number;
  /** Default 3. */
  sentinels?: number;
  /** After how long without an answer a server is taken for dead, in ms; default 700. */
  downAfterMs?: number;
  /** Clients are to use TLS, as the servers and Sentinels do among themselves. */
  tls?: Certificate;
  /** As whom the Sentinels log in to the servers; default nobody. */
  login?: { user: string; password: string };
  /** More arguments of each redis-server. */
  extraArgs?: string[];
}

export interface RedisSentinel extends AsyncDisposable {
  /** `redis+sentinel://127.0.0.1:16001,127.0.0.1:16002/mymaster`; `rediss+sentinel` with TLS. */
  readonly url: string;
  /** The first primary first. */
  readonly nodes: readonly RedisNode[];
  readonly sentinels: readonly RedisNode[];
  /** The server that the Sentinels name now. */
  primary(): Promise<RedisNode>;
  /** SIGKILL of the primary; done when another one has its place. */
  failOver(): Promise<void>;
}

const primaryName = 'mymaster';

/**
 * Starts a primary, replicas of it, and Sentinels that watch them, on loopback ports. Always by the local `redis-server`.
 *
 * @throws Error that says what to install, or holds a server's own complaint
 */
export async function startRedisSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const { replicas = 1, sentinels: count = 3, downAfterMs = 700, tls, login, extraArgs = [] } = options;
  await using owners = new AsyncDisposableStack();
  const start = async (more: string[]) => {
    const quick = Object.entries(quickReplication).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const secured = await securedArgs(tls, []);
    const args = [...quick, ...secured.args, ...more, ...extraArgs];
    return nodeOf(
      owners.use(
        await startRestartable((place) => startLocalRedis({ ...place, appendOnly: true, extraArgs: args })),
      ),
      secured.port,
    );
  };
  const first = await start([]);
  const followers = await Promise.all(
    Array.from({ length: replicas }, () => start(['--replicaof', first.host, String(first.clientPort)])),
  );
  const nodes = [first, ...followers];
  const sentinels = await Promise.all(
    Array.from({ length: count }, async () => {
      const secured = await securedArgs(tls, []);
      const watch = { primary: first, count, downAfterMs, login, more: secured.args };
      return nodeOf(owners.use(await startSentinel(watch)), secured.port);
    }),
  );
  for (const sentinel of sentinels)
    await until(() => knowsAll(sentinel, replicas, count), { timeoutMs: 20_000 });
  const primary = () => primaryOf(sentinels, nodes);
  const running = owners.move();
  return {
    url: `redis${tls ? 's' : ''}+sentinel://${sentinels.map(({ host, clientPort }) => `${host}:${clientPort}`).join(',')}/${primaryName}`,
    nodes,
    sentinels,
    primary,
    async failOver() {
      const before = await primary();
      await before.kill();
      const promoted = async () => (await primary()).port !== before.port;
      await until(promoted, { what: 'another primary', timeoutMs: 20_000, intervalMs: 50 });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Watch {
  primary: RedisNode;
  count: number;
  downAfterMs: number;
  login: RedisSentinelOptions['login'];
  more: string[];
}

function startSentinel({ primary, count, downAfterMs, login, more }: Watch): Promise<RestartableServer> {
  const account = login
    ? `sentinel auth-user ${primaryName} ${login.user}\nsentinel auth-pass ${primaryName} ${login.password}\n`
    : '';
  const quorum = Math.floor(count / 2) + 1;
  return startRestartable((place) =>
    startLocalServer({
      name: 'redis-server',
      scheme: 'redis',
      binary: requireBinary('redis-server'),
      dataDir: place.dataDir,
      port: place.port,
      args: ({ port, dataDir }) => {
        const file = join(dataDir, 'sentinel.conf');
        // The Sentinel keeps in it what it has learned.
        if (!existsSync(file)) {
          writeFileSync(
            file,
            `port ${port}
bind 127.0.0.1
dir ${dataDir}
sentinel monitor ${primaryName} ${primary.host} ${primary.clientPort} ${quorum}
sentinel down-after-milliseconds ${primaryName} ${downAfterMs}
sentinel failover-timeout ${primaryName} 3000
${account}`,
          );
        }
        return [file, '--sentinel', ...more];
      },
      ready: async ({ port }) => (await ask(port, 'PING\r\n')).startsWith('+PONG'),
    }),
  );
}

async function knowsAll(sentinel: RedisNode, replicas: number, count: number): Promise<boolean> {
  const flat = (await sentinel.command(['SENTINEL', 'MASTER', primaryName])) as string[];
  const field = (name: string) => flat[flat.indexOf(name) + 1];
  const all = field('num-slaves') === String(replicas) && field('num-other-sentinels') === String(count - 1);
  if (!all) return false;
  const followers = (await sentinel.command(['SENTINEL', 'REPLICAS', primaryName])) as string[][];
  return followers.every((each) => each[each.indexOf('master-link-status') + 1] === 'ok');
}

async function primaryOf(sentinels: readonly RedisNode[], nodes: readonly RedisNode[]): Promise<RedisNode> {
  return await until(
    async () => {
      for (const sentinel of sentinels) {
        const found = await sentinel
          .command(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', primaryName])
          .catch(() => undefined);
        const [, port] = (found ?? []) as string[];
        const node = nodes.find((each) => String(each.clientPort) === port);
        if (node) return node;
      }
      return undefined;
    },
    { what: 'a sentinel that names a primary' },
  );
}

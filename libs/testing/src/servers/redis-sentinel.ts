import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { requireBinary } from '../processes/find-binary.ts';
import { until } from '../processes/wait.ts';
import type { Certificate } from './certificate.ts';
import { ask, startLocalRedis } from './local-programs.ts';
import { startLocalServer } from './local-server.ts';
import { nodeOf, quickReplication, type RedisNode, securedArgs } from './redis-cluster.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

export interface RedisSentinelOptions {
  /** The number of replicas of the primary; default 1. */
  replicas?: number;
  /** The number of Sentinels; default 3. */
  sentinels?: number;
  /** The silence after which a server counts as dead, in ms; default 700. */
  downAfterMs?: number;
  /** The certificate with which clients, servers and Sentinels use TLS; default no TLS. */
  tls?: Certificate;
  /** The account with which the Sentinels log in to the servers; default none. */
  login?: { user: string; password: string };
  /** The users of each redis-server, as lines of an ACL file. The default user keeps all rights. */
  users?: string | undefined;
  /** More arguments of each redis-server. */
  extraArgs?: string[];
}

export interface RedisSentinel extends AsyncDisposable {
  /** `redis+sentinel://127.0.0.1:16001,127.0.0.1:16002/mymaster`; `rediss+sentinel` with TLS. */
  readonly url: string;
  /** All servers, the first primary at index 0. */
  readonly nodes: readonly RedisNode[];
  readonly sentinels: readonly RedisNode[];
  /** Returns the server that the Sentinels name as primary now. */
  primary(): Promise<RedisNode>;
  /** Kills the primary (SIGKILL). Resolves when another server is the primary. */
  failOver(): Promise<void>;
}

const primaryName = 'mymaster';

/**
 * Starts a primary, its replicas, and Sentinels that watch them, on loopback ports. Always uses the local
 * `redis-server`.
 *
 * @throws Error that says what to install, or with the error of a server
 */
export async function startRedisSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const {
    replicas = 1,
    sentinels: count = 3,
    downAfterMs = 700,
    tls,
    login,
    users,
    extraArgs = [],
  } = options;
  await using owners = new AsyncDisposableStack();
  const start = async (more: string[]) => {
    const quick = Object.entries(quickReplication).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const secured = await securedArgs(tls, []);
    const args = [...quick, ...secured.args, ...more, ...extraArgs];
    return nodeOf(
      owners.use(
        await startRestartable((place) =>
          startLocalRedis({
            ...place,
            ...(users !== undefined && { users }),
            appendOnly: true,
            extraArgs: args,
          }),
        ),
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
        // A Sentinel writes its state into this file, so only the first start makes it.
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
        const address = await sentinel
          .command(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', primaryName])
          .catch(() => undefined);
        const [, port] = (address ?? []) as string[];
        const node = nodes.find((each) => String(each.clientPort) === port);
        if (node) return node;
      }
      return undefined;
    },
    { what: 'a sentinel that names a primary' },
  );
}

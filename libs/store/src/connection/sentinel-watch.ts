import type { RedisAddress } from '@agentmesh/protocol';
import { Redis, type RedisOptions } from 'ioredis';

/**
 * Disconnects from a primary as soon as a Sentinel reports another primary. An old primary that is still
 * alive becomes a replica only some ten seconds later, and loses the writes that it accepts until then.
 */
export function watchSentinels(redis: Redis, address: RedisAddress, tls: RedisOptions['tls']): Disposable {
  const { hosts, primary, sentinelUsername, sentinelPassword } = address;
  const watchers = hosts.map(({ host, port }) => {
    const watcher = new Redis({
      host,
      port,
      ...(sentinelUsername !== undefined && { username: sentinelUsername }),
      ...(sentinelPassword !== undefined && { password: sentinelPassword }),
      ...(tls && { tls }),
      connectionName: 'agentmesh-watch',
      disableClientInfo: true,
      enableReadyCheck: false,
      connectTimeout: 1_500,
      maxRetriesPerRequest: null,
      retryStrategy: () => 1_000,
    });
    // An unreachable Sentinel does no harm: the other Sentinels are heard, and the connection to Redis
    // reports its own failures.
    watcher.on('error', () => {});
    watcher.on('message', (_channel: string, text: string) => {
      if (text.startsWith(`${primary} `) && redis.status === 'ready') redis.disconnect(true);
    });
    watcher.subscribe('+switch-master').catch(() => {});
    return watcher;
  });
  return {
    [Symbol.dispose]() {
      for (const watcher of watchers) watcher.disconnect();
    },
  };
}

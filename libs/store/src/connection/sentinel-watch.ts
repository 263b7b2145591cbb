import type { RedisAddress } from '@agentmesh/protocol';
import { Redis, type RedisOptions } from 'ioredis';

/**
 * Lets go of a primary as soon as a Sentinel says that another one has its place: one that was replaced without being dead is made a replica some
 * ten seconds later only, and loses what it has accepted until then.
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
    // One that is away is no fault: the others are listened to, and the connection itself reports what hinders it.
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

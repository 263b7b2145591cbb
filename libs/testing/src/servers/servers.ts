import { chooseServers } from './docker-engine.ts';
import { startLocalNats, startLocalRedis } from './local-programs.ts';
import type { NatsOptions, RedisOptions, Server } from './server.ts';

export { dockerAnswers, hasContainers } from './docker-engine.ts';
export type { NatsOptions, RedisOptions, Server, ServerRuns } from './server.ts';

/**
 * Starts a NATS server with JetStream on a loopback port: in a container when a Docker engine answers, else
 * the local `nats-server`. `MESH_TEST_SERVERS=docker|local` overrides this.
 *
 * @throws Error that says what to install, or with the error of the server
 */
export async function startNats(options: NatsOptions = {}): Promise<Server> {
  return chooseServers(
    'nats-server',
    async () => (await import('./containers.ts')).startNatsContainer(options),
    () => startLocalNats(options),
    options.runs,
  );
}

/** Starts a Redis server without snapshots, as {@link startNats} starts a NATS server. */
export async function startRedis(options: RedisOptions = {}): Promise<Server> {
  return chooseServers(
    'redis-server',
    async () => (await import('./containers.ts')).startRedisContainer(options),
    () => startLocalRedis(options),
    options.runs,
  );
}

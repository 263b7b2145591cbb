import { MeshError } from '@agentmesh/protocol';
import type { RedisConnection } from '../../../libs/store/src/connection/redis-connection.ts';
import { fromRedis, isMissingFunction, isReply } from '../../../libs/store/src/connection/redis-errors.ts';
import type { RedisClient } from '../../../libs/store/src/connection/redis-link.ts';
import { libraryOf, type Script } from '../../../libs/store/src/scripts/script.ts';
import { atOnce, type RedisServer, type RoundTripHooks, smallRedisClient } from './small-redis-client.ts';

/**
 * Returns a connection to a server in this process, for `storeOn`. Each command and each script is one round trip, which
 * is carried out by the hooks. Nothing is repeated here: a hook that carries a call out again stands for the
 * repetition after a lost reply.
 */
export function smallRedisConnection(server: RedisServer, hooks: RoundTripHooks = atOnce): RedisConnection {
  const client = smallRedisClient(server, hooks);
  const waiting = smallRedisClient(server, hooks, true);
  let isOpen = true;
  const on = async <T>(redis: RedisClient, command: (redis: RedisClient) => Promise<T>): Promise<T> => {
    if (!isOpen) throw new MeshError('unavailable', 'the store is closed', { details: { closed: true } });
    try {
      return await command(redis);
    } catch (error) {
      throw fromRedis(error);
    }
  };
  const run: RedisConnection['run'] = (command) => on(client, command);
  const write: RedisConnection['write'] = (_, command) => on(waiting, command);
  const load = async (scripts: readonly Script[]) => {
    for (const script of scripts)
      await run((redis) => redis.call('FUNCTION', ['LOAD', libraryOf(script)]).catch(unlessLoaded));
  };
  return {
    isOneServer: true,
    run,
    read: write,
    write,
    async script<T>(script: Script, keys: string[], args: (string | number)[]): Promise<T> {
      const command = script.effect === 'reads' ? 'FCALL_RO' : 'FCALL';
      const call = () =>
        on(
          waiting,
          (redis) => redis.call(command, [script.name, keys.length, ...keys, ...args]) as Promise<T>,
        );
      try {
        return await call();
      } catch (error) {
        if (!isMissingFunction(MeshError.from(error).cause)) throw error;
        await load([script]);
        return await call();
      }
    },
    load,
    keysLike: (pattern) => run(async (redis) => (await redis.scan('0', 'MATCH', pattern))[1]),
    ping: async () => void (await run((redis) => redis.ping())),
    async [Symbol.asyncDispose]() {
      isOpen = false;
    },
  };
}

/** Another process may load the functions at the same time. */
function unlessLoaded(error: unknown): void {
  if (!isReply(error) || !/already exists/.test(error.message)) throw error;
}

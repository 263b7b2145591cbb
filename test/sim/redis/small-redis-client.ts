import { Command } from 'ioredis';
import type { RedisClient } from '../../../libs/store/src/connection/redis-link.ts';
import { type Bytes, bytesOf, type Reply, Status, textOf } from './reply.ts';
import { scriptNameOf } from './script-names.ts';
import type { SmallRedis } from './small-redis.ts';

/** The places at which a simulation changes what happens on the way to a server and back. */
export interface RoundTripHooks {
  /**
   * Carries out a command on the server, now or later, once, never or several times. Returns its reply, or throws: an
   * Error that is no reply stands for a server that did not answer.
   *
   * @param name the name of the script, as `commitScript`; else the command in small letters, as `hgetall`
   * @param waits whether the caller may wait until replicas have all writes
   */
  call<T>(name: string, carryOut: () => T, waits: boolean): Promise<T>;
}

/** A server that carries out commands. */
export type RedisServer = Pick<SmallRedis, 'call'>;

export const atOnce: RoundTripHooks = { call: async (_, carryOut) => carryOut() };

/**
 * Returns a client with the methods of ioredis, whose commands a server in this process carries out. Arguments and
 * replies are changed by ioredis itself.
 */
export function smallRedisClient(server: RedisServer, hooks: RoundTripHooks, waits = false): RedisClient {
  const send = (command: Command, decode: (bytes: Bytes) => string | Buffer) => {
    const args = command.args.map((arg) =>
      Buffer.isBuffer(arg) ? arg.toString('latin1') : bytesOf(String(arg)),
    );
    const isFunction = /^fcall/i.test(command.name);
    const name = isFunction ? scriptNameOf(args[0] ?? '') : command.name.toLowerCase();
    const carryOut = () => {
      const reply = decoded(server.call(command.name, args), decode);
      return command.transformReply(reply as Buffer);
    };
    return hooks.call(name, carryOut, waits);
  };
  const client: object = new Proxy(
    {},
    {
      get(_, method) {
        // A client is no promise: whoever awaits it gets it.
        if (typeof method !== 'string' || method === 'then') return undefined;
        if (method === 'call')
          return (name: string, ...args: string[]) => send(new Command(name, args), textOf);
        const [, name = method, isBuffer] = /^(\w+?)(Buffer)?$/.exec(method) ?? [];
        return (...args: string[]) =>
          send(new Command(name, args), isBuffer ? (bytes) => Buffer.from(bytes, 'latin1') : textOf);
      },
    },
  );
  return client as RedisClient;
}

type Decoded = string | Buffer | number | null | Decoded[];

function decoded(reply: Reply, decode: (bytes: Bytes) => string | Buffer): Decoded {
  if (typeof reply === 'string') return decode(reply);
  if (typeof reply === 'number' || reply === null) return reply;
  if (reply instanceof Status) return reply.text;
  return reply.map((item) => decoded(item, decode));
}

import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { RedisConnection } from '../../../libs/store/src/connection/redis-connection.ts';
import { scoreText } from './numbers.ts';
import { type Bytes, type Reply, ReplyError, Status } from './reply.ts';
import { scriptNameOf } from './script-names.ts';
import { SmallRedis } from './small-redis.ts';
import type { RedisServer } from './small-redis-client.ts';
import { smallRedisConnection } from './small-redis-connection.ts';

/** The key from which scripts on the real server read the time of the small one. */
const clockKey = '{clock}';

/** Arguments of a real server that keeps fields in the order in which they come, and cuts streams by entries. */
export const orderedRedis = [
  ...['--hash-max-listpack-entries', '1000000', '--hash-max-listpack-value', '1000000000'],
  ...['--stream-node-max-bytes', '0', '--stream-node-max-entries', '100'],
];

/** A small Redis whose calls a real Redis repeats at once: each reply of both must be the same. */
export interface Twin {
  connection: RedisConnection;
  /** The names of the scripts that have run, and the commands. */
  readonly used: ReadonlySet<string>;
  /** Carries out a command on both. Returns the reply of the small one, or its error. */
  call(name: string, args: readonly Bytes[]): Promise<Reply | ReplyError>;
  /** Compares all keys of both, with all that they hold. */
  compareKeys(): Promise<void>;
}

/** @param real a client of a server with the arguments {@link orderedRedis} and without keys */
export function startTwin(real: Redis): Twin {
  let now = Date.now();
  const small = new SmallRedis({ now: () => now });
  const used = new Set<string>();
  let comparison = Promise.resolve();

  /** Sends the same call to the real server. Both servers see all calls in one order. */
  function compare(name: string, args: readonly Bytes[], ours: Reply | ReplyError): Promise<void> {
    const buffers = args.map((arg) => Buffer.from(timeless(arg), 'latin1'));
    const time = small.callAt(now, 'time', []) as Bytes[];
    void real.hset(clockKey, 's', time[0] ?? '', 'us', time[1] ?? '');
    // ioredis changes replies of commands in small letters.
    const sent = real.callBuffer(name.toUpperCase(), ...buffers).catch((error: unknown) => error);
    return sent.then((reply) => assertSame(name, args, ours, replyOf(reply)));
  }

  function callBoth(name: string, args: readonly Bytes[]): Reply | ReplyError {
    now = Math.max(now, Date.now());
    used.add(/^fcall/i.test(name) ? scriptNameOf(args[0] ?? '') : name.toLowerCase());
    const ours = outcome(() => small.call(name, args));
    comparison = compare(name, args, ours);
    return ours;
  }

  const server: RedisServer = {
    call(name, args = []) {
      const reply = callBoth(name, args);
      if (reply instanceof ReplyError) throw reply;
      return reply;
    },
  };
  const call: Twin['call'] = async (name, args) => {
    const reply = callBoth(name, args);
    await comparison;
    return reply;
  };
  return {
    used,
    call,
    connection: smallRedisConnection(server, {
      async call(_, carryOut) {
        const result = outcomeOf(carryOut);
        await comparison;
        return result();
      },
    }),
    async compareKeys() {
      const all = small.call('KEYS', ['*']) as Bytes[];
      const theirs = replyOf(await real.callBuffer('KEYS', '*')) as Bytes[];
      // A key that expires meanwhile may be there on one server only.
      const isShortLived = (key: Bytes) => {
        const left = Number(small.call('PTTL', [key]));
        return left !== -1 && left < 20_000;
      };
      const keys = all.filter((key) => !isShortLived(key));
      expect(keys.filter((key) => !theirs.includes(key))).toEqual([]);
      expect(theirs.filter((key) => key !== clockKey && !all.includes(key))).toEqual([]);
      for (const key of keys) {
        const kind = await call('TYPE', [key]);
        const [name, ...args] = readers[kind instanceof Status ? kind.text : String(kind)] ?? [];
        if (name === undefined) expect.fail(`no command reads a ${String(kind)}`);
        await call(name, [key, ...args]);
        await call('PTTL', [key]);
      }
    },
  };
}

/** The commands that read a whole value of each kind. */
const readers: Record<string, [command: string, ...args: string[]]> = {
  string: ['GET'],
  hash: ['HGETALL'],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
  stream: ['XRANGE', '-', '+'],
};

/** Lets a library read the time from a key, so that both servers run it at the same time. */
function timeless(arg: Bytes): Bytes {
  if (!arg.startsWith('#!lua')) return arg;
  return arg.replaceAll("redis.call('TIME')", `redis.call('HMGET', '${clockKey}', 's', 'us')`);
}

function outcome(call: () => Reply): Reply | ReplyError {
  try {
    return call();
  } catch (error) {
    if (error instanceof ReplyError) return error;
    throw error;
  }
}

/** Carries out a call now. Returns a function that gives its result, or throws its error. */
function outcomeOf<T>(carryOut: () => T): () => T {
  try {
    const result = carryOut();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Returns a reply of ioredis in the form of the small Redis. */
function replyOf(reply: unknown): Reply | ReplyError {
  if (reply instanceof Error) return new ReplyError(reply.message);
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  if (Array.isArray(reply)) return reply.map(replyOf) as Reply[];
  return reply as number | null;
}

const unordered = new Set(['smembers', 'keys']);

function assertSame(
  name: string,
  args: readonly Bytes[],
  ours: Reply | ReplyError,
  theirs: Reply | ReplyError,
) {
  const command = name.toLowerCase();
  const what = `${name} ${args.map((arg) => arg.slice(0, 100)).join(' ')}`;
  if (command === 'pttl' && Number(ours) >= 0) {
    // The real server counts by its own clock, and the command comes some time after the expiry was set.
    expect(Math.abs(Number(ours) - Number(theirs)), what).toBeLessThan(5_000);
    return;
  }
  if (
    scriptNameOf(args[0] ?? '') === 'searchMemoriesScript' &&
    Array.isArray(ours) &&
    Array.isArray(theirs)
  ) {
    // The logarithm of the C library may differ in the last digits.
    const rounded = (reply: Reply) => Number(reply).toPrecision(13);
    expect(ours.map(rounded), what).toEqual(theirs.map(rounded));
    return;
  }
  if (command === 'srandmember' || command === 'info' || command === 'time') return;
  const inOrder = (reply: Canonical) =>
    unordered.has(command) && Array.isArray(reply) ? reply.toSorted() : reply;
  expect(inOrder(canonical(ours)), what).toEqual(inOrder(canonical(theirs)));
}

type Canonical = string | number | null | Canonical[];

/** Returns a reply in one form: versions of Redis write scores and errors of scripts in different forms. */
function canonical(reply: Reply | ReplyError): Canonical {
  if (reply instanceof ReplyError) return `error: ${reply.message.replace(/ script: \S+, on .*$/s, '')}`;
  if (reply instanceof Status) return reply.text;
  if (typeof reply === 'number' || reply === null) return reply;
  if (typeof reply === 'string')
    return /^-?\d+\.\d+$|e[+-]\d+$/.test(reply) ? scoreText(Number(reply)) : reply;
  return reply.map(canonical);
}

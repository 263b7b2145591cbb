import type { Random } from '@agentmesh/testing';
import type { Bytes } from './reply.ts';

type MakeArgs = (random: Random) => Bytes[];

const wordsOf = (text: string) => (random: Random) => random.pick(text.split(' '));
const key = wordsOf('s1 s2 h1 h2 t1 t2 z1 z2 x1 x2');
const field = wordsOf('a b c 1 2 10 é');
const value = wordsOf('a b 1 -5 7 900719925474099 x\0y ÿ');
const integer = wordsOf('0 1 2 5 -1 -2 100 1.5 a 01');
const score = wordsOf('0 1 2 2.5 -3 1e3 inf -inf 0.1 1732000000000.001 a');
const limit = wordsOf('0 1 2 2.5 -3 (1 (2 +inf -inf (2.5 a');
const id = wordsOf('1-1 2-0 2-5 3 0-0 0-7 99999-1 a');
const idLimit = wordsOf('- + 1-1 2 (2-0 (1-1 3-0 (2 a');
const ms = wordsOf('100000 200000 -1 a 0');
const several = (random: Random, make: (random: Random) => Bytes, most = 3) =>
  Array.from({ length: random.integer(1, most) }, () => make(random));
const maybe = (random: Random, ...words: Bytes[]) => (random.chance(0.4) ? words : []);
/** A key of the kind that a command needs, mostly. */
const of = (kind: string) => (random: Random) =>
  random.chance(0.93) ? `${kind}${random.integer(1, 2)}` : key(random);
const [text, hash, set, zset, stream] = ['s', 'h', 't', 'z', 'x'].map(of) as [
  typeof key,
  typeof key,
  typeof key,
  typeof key,
  typeof key,
];

/** The arguments of each command that reads or writes keys. */
export const commandArgs: Record<string, MakeArgs> = {
  del: (random) => several(random, key, 2),
  unlink: (random) => several(random, key, 2),
  exists: (random) => several(random, key),
  pexpire: (random) => [key(random), ms(random)],
  pexpireat: (random) => [key(random), random.pick([String(Date.now() + 100_000), '1000', 'a'])],
  persist: (random) => [key(random)],
  pttl: (random) => [key(random)],
  get: (random) => [text(random)],
  set: (random) => [
    ...[text(random), value(random)],
    ...random.pick([
      [],
      ['PX', ms(random)],
      ['PXAT', String(Date.now() + 90_000)],
      ['NX'],
      ['XX'],
      ['EX', '90', 'NX'],
      ['PX'],
    ]),
  ],
  setnx: (random) => [text(random), value(random)],
  hget: (random) => [hash(random), field(random)],
  hmget: (random) => [hash(random), ...several(random, field)],
  hgetall: (random) => [hash(random)],
  hkeys: (random) => [hash(random)],
  hvals: (random) => [hash(random)],
  hlen: (random) => [hash(random)],
  hexists: (random) => [hash(random), field(random)],
  hset: (random) => [
    hash(random),
    ...several(random, field).flatMap((name) => [name, value(random)]),
    ...(random.chance(0.05) ? ['odd'] : []),
  ],
  hsetnx: (random) => [hash(random), field(random), value(random)],
  hdel: (random) => [hash(random), ...several(random, field)],
  hincrby: (random) => [hash(random), field(random), integer(random)],
  sadd: (random) => [set(random), ...several(random, field)],
  srem: (random) => [set(random), ...several(random, field)],
  smembers: (random) => [set(random)],
  srandmember: (random) => [set(random), '2'],
  zadd: (random) => [
    ...[
      zset(random),
      ...random.pick([[], [], [], ['NX'], ['XX'], ['CH'], ['GT'], ['LT', 'CH'], ['NX', 'XX']]),
    ],
    ...several(random, field).flatMap((member) => [score(random), member]),
  ],
  zrem: (random) => [zset(random), ...several(random, field)],
  zremrangebyscore: (random) => [zset(random), limit(random), limit(random)],
  zcard: (random) => [zset(random)],
  zscore: (random) => [zset(random), field(random)],
  zmscore: (random) => [zset(random), ...several(random, field)],
  zcount: (random) => [zset(random), limit(random), limit(random)],
  zinter: (random) => [
    '2',
    zset(random),
    zset(random),
    ...maybe(random, 'WEIGHTS', '2', '0.5'),
    ...maybe(random, 'WITHSCORES'),
  ],
  zrange: (random) =>
    random.chance(0.5)
      ? [
          zset(random),
          integer(random),
          integer(random),
          ...maybe(random, 'REV'),
          ...maybe(random, 'WITHSCORES'),
        ]
      : [
          ...[zset(random), limit(random), limit(random), 'BYSCORE', ...maybe(random, 'REV')],
          ...[...maybe(random, 'LIMIT', integer(random), integer(random)), ...maybe(random, 'WITHSCORES')],
        ],
  zrevrange: (random) => [zset(random), integer(random), integer(random), ...maybe(random, 'WITHSCORES')],
  zrangebyscore: (random) => [
    ...[zset(random), limit(random), limit(random)],
    ...[...maybe(random, 'WITHSCORES'), ...maybe(random, 'LIMIT', integer(random), integer(random))],
  ],
  xadd: (random) => [
    ...[stream(random), ...random.pick([[], [], ['MAXLEN', '3'], ['MAXLEN', '~', '2'], ['MINID', '2-0']])],
    ...[id(random), field(random), value(random)],
  ],
  xlen: (random) => [stream(random)],
  xrange: (random) => [
    stream(random),
    idLimit(random),
    idLimit(random),
    ...maybe(random, 'COUNT', random.pick(['0', '1', '2', '-1', 'a'])),
  ],
  xrevrange: (random) => [stream(random), idLimit(random), idLimit(random), ...maybe(random, 'COUNT', '2')],
  xdel: (random) => [stream(random), ...several(random, id)],
  xtrim: (random) => [
    stream(random),
    ...random.pick([
      ['MAXLEN', '2'],
      ['MAXLEN', '=', '1'],
      ['MINID', '2-0'],
      ['MAXLEN', '-1'],
      ['MAXLEN', '~', '1'],
    ]),
  ],
};

/** Returns a command on few keys, so that commands meet the values of others; some are wrong. */
export function randomCommand(random: Random): [name: string, args: Bytes[]] {
  const name = random.pick(Object.keys(commandArgs));
  const args = commandArgs[name]?.(random) ?? [];
  const bytes = args.map((arg) => Buffer.from(arg, 'utf8').toString('latin1'));
  return [name, random.chance(0.01) ? bytes.slice(0, -1) : bytes];
}

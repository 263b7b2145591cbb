import type { Keyspace } from '../keyspace.ts';
import { integerIn, scoreIn, scoreLimitIn, scoreText } from '../numbers.ts';
import { type Bytes, type Reply, ReplyError, syntaxError } from '../reply.ts';
import { SortedSet } from '../sorted-set.ts';
import { type Commands, countOf, pairsOf } from './command.ts';
import { positionsOf, rangeCommands } from './sorted-set-ranges.ts';

export const sortedSetCommands: Commands = {
  ...rangeCommands,
  zadd: { arity: -4, writes: true, run: (keys, [key = '', ...words]) => add(keys, key, words) },
  zrem: {
    arity: -3,
    writes: true,
    run(keys, [key = '', ...members]) {
      const set = keys.find('zset', key);
      const count = set ? countOf(members, (member) => set.remove(member)) : 0;
      if (set && count > 0) keys.changed(key, set.size);
      return count;
    },
  },
  zremrangebyscore: {
    arity: 4,
    writes: true,
    run(keys, [key = '', min, max]) {
      const limits = { min: scoreLimitIn(min), max: scoreLimitIn(max) };
      const set = keys.find('zset', key);
      if (!set) return 0;
      const { start, end } = positionsOf(set, limits.min, limits.max);
      for (const [member] of set.slice(start, end)) set.remove(member);
      if (end > start) keys.changed(key, set.size);
      return end - start;
    },
  },
  zcard: { arity: 2, run: (keys, [key]) => keys.find('zset', key)?.size ?? 0 },
  zscore: { arity: 3, run: (keys, [key, member]) => scoreReply(keys, key, member) },
  zmscore: {
    arity: -3,
    run: (keys, [key, ...members]) => members.map((member) => scoreReply(keys, key, member)),
  },
  zinter: { arity: -3, run: intersection },
};

function scoreReply(keys: Keyspace, key: Bytes | undefined, member: Bytes = ''): Bytes | null {
  const score = keys.find('zset', key)?.scoreOf(member);
  return score === undefined ? null : scoreText(score);
}

const conditions = ['nx', 'xx', 'gt', 'lt', 'ch'];

function add(keys: Keyspace, key: Bytes, words: readonly Bytes[]): Reply {
  const first = words.findIndex((word) => !conditions.includes(word.toLowerCase()));
  const options = new Set(words.slice(0, first).map((word) => word.toLowerCase()));
  if (first < 0 || (words.length - first) % 2 === 1) throw syntaxError();
  if (options.has('nx') && options.has('xx'))
    throw new ReplyError('ERR XX and NX options at the same time are not compatible');
  const pairs = pairsOf(words.slice(first)).map(([score, member]) => [scoreIn(score), member] as const);
  const before = keys.find('zset', key);
  if (!before && options.has('xx')) return 0;
  const set = keys.open('zset', key);
  const counts = { added: 0, updated: 0 };
  for (const [score, member] of pairs) {
    const known = set.scoreOf(member);
    if (known === undefined ? options.has('xx') : !replaces(options, known, score)) continue;
    set.put(member, score);
    counts[known === undefined ? 'added' : 'updated'] += 1;
  }
  if (counts.added + counts.updated > 0) keys.changed(key, set.size);
  return counts.added + (options.has('ch') ? counts.updated : 0);
}

/** Tells whether a score takes the place of a known one. */
function replaces(options: ReadonlySet<string>, known: number, score: number): boolean {
  if (known === score || options.has('nx')) return false;
  return !(options.has('gt') && score < known) && !(options.has('lt') && score > known);
}

function intersection(keys: Keyspace, [count, ...words]: readonly Bytes[]): Reply {
  const number = integerIn(count);
  if (number < 1) throw new ReplyError("ERR at least 1 input key is needed for 'zinter' command");
  if (number > words.length) throw syntaxError();
  const rest = words.slice(number).map((word) => word.toLowerCase());
  const withScores = rest.at(-1) === 'withscores';
  const weights = rest
    .slice(1, withScores ? -1 : undefined)
    .map((word) => scoreIn(word, 'weight value is not a float'));
  if (rest[0] === 'weights' ? weights.length !== number : rest.length > Number(withScores))
    throw syntaxError();
  const sets = words
    .slice(0, number)
    .map((key, at) => ({ set: scored(keys, key), weight: weights[at] ?? 1 }));
  // Redis adds the scores from the smallest set on, which decides about the last digit of a sum.
  sets.sort((one, other) => one.set.size - other.set.size);
  const found = (sets[0]?.set.slice(0, Number.POSITIVE_INFINITY) ?? []).flatMap(([member]) => {
    const scores = sets.map(({ set, weight }) => ({ score: set.scoreOf(member), weight }));
    if (scores.some(({ score }) => score === undefined)) return [];
    return [
      [
        member,
        scores.reduce((sum, { score = 0, weight }) => orZero(sum + orZero(score * weight)), 0),
      ] as const,
    ];
  });
  found.sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1));
  return found.flatMap(([member, score]) => (withScores ? [member, scoreText(score)] : [member]));
}

/** Returns a sorted set, or a set, whose members have the score 1. */
function scored(keys: Keyspace, key: Bytes): SortedSet {
  if (keys.stored(key)?.kind !== 'set') return keys.find('zset', key) ?? new SortedSet();
  const sorted = new SortedSet();
  for (const member of keys.find('set', key) ?? []) sorted.put(member, 1);
  return sorted;
}

/** The sum of both infinities is 0 in Redis. */
function orZero(score: number): number {
  return Number.isNaN(score) ? 0 : score;
}

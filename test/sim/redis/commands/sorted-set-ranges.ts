import type { Keyspace } from '../keyspace.ts';
import { integerIn, rangeOf, type ScoreLimit, scoreLimitIn, scoreText } from '../numbers.ts';
import { type Bytes, type Reply, ReplyError, syntaxError } from '../reply.ts';
import type { SortedSet } from '../sorted-set.ts';
import type { Commands } from './command.ts';

interface RangeOptions {
  byScore: boolean;
  isReverse: boolean;
  withScores: boolean;
  limit?: { offset: number; count: number };
}

const plain = { byScore: false, isReverse: false };

/** Commands that read members in their order. */
export const rangeCommands: Commands = {
  zrange: { arity: -4, run: (keys, args) => range(keys, args, plain) },
  zrevrange: { arity: -4, run: (keys, args) => range(keys, args, { ...plain, isReverse: true }) },
  zrangebyscore: { arity: -4, run: (keys, args) => range(keys, args, { ...plain, byScore: true }) },
  zcount: {
    arity: 4,
    run(keys, [key, min, max]) {
      const limits = { min: scoreLimitIn(min), max: scoreLimitIn(max) };
      const set = keys.find('zset', key);
      if (!set) return 0;
      const { start, end } = positionsOf(set, limits.min, limits.max);
      return end - start;
    },
  },
};

/** Returns the positions of the members between two scores. */
export function positionsOf(
  set: SortedSet,
  min: ScoreLimit,
  max: ScoreLimit,
): { start: number; end: number } {
  const start = set.countBelow(min.score, min.isExclusive);
  const end = set.countBelow(max.score, !max.isExclusive);
  return { start, end: Math.max(start, end) };
}

function range(
  keys: Keyspace,
  [key, from, to, ...words]: readonly Bytes[],
  preset: Pick<RangeOptions, 'byScore' | 'isReverse'>,
): Reply {
  const options = optionsIn(words, preset);
  if (options.limit && !options.byScore)
    throw new ReplyError(
      'ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
    );
  const find = options.byScore ? betweenScores : betweenPositions;
  const found = find(from, to, options)(keys.find('zset', key));
  return found.flatMap(([member, score]) => (options.withScores ? [member, scoreText(score)] : [member]));
}

type Find = (set: SortedSet | undefined) => [member: Bytes, score: number][];

function betweenPositions(from: Bytes | undefined, to: Bytes | undefined, { isReverse }: RangeOptions): Find {
  const [first, last] = [integerIn(from), integerIn(to)];
  return (set) => {
    if (!set) return [];
    const { start, end } = rangeOf(first, last, set.size);
    return isReverse ? set.slice(set.size - end, set.size - start).reverse() : set.slice(start, end);
  };
}

function betweenScores(
  from: Bytes | undefined,
  to: Bytes | undefined,
  { isReverse, limit: { offset, count } = { offset: 0, count: -1 } }: RangeOptions,
): Find {
  const [first, last] = [scoreLimitIn(from), scoreLimitIn(to)];
  return (set) => {
    if (!set || offset < 0) return [];
    const { start, end } = isReverse ? positionsOf(set, last, first) : positionsOf(set, first, last);
    const most = count < 0 ? end - start : count;
    if (!isReverse) return set.slice(Math.min(start + offset, end), Math.min(start + offset + most, end));
    return set.slice(Math.max(end - offset - most, start), Math.max(end - offset, start)).reverse();
  };
}

function optionsIn(
  words: readonly Bytes[],
  preset: Pick<RangeOptions, 'byScore' | 'isReverse'>,
): RangeOptions {
  const options: RangeOptions = { ...preset, withScores: false };
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]?.toLowerCase();
    if (word === 'withscores') options.withScores = true;
    else if (word === 'byscore') options.byScore = true;
    else if (word === 'rev') options.isReverse = true;
    else if (word === 'limit' && at + 2 < words.length) {
      options.limit = { offset: integerIn(words[at + 1]), count: integerIn(words[at + 2]) };
      at += 2;
    } else throw syntaxError();
  }
  return options;
}

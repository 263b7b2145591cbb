import type { Keyspace } from '../keyspace.ts';
import { integerIn } from '../numbers.ts';
import { type Bytes, type Reply, ReplyError, syntaxError, wrongNumber } from '../reply.ts';
import { compareIds, type Entry, type EntryId, idIn, idText, limitIn, type Stream } from '../stream.ts';
import { type Commands, countOf } from './command.ts';

export const streamCommands: Commands = {
  xadd: { arity: -5, writes: true, run: (keys, [key = '', ...words]) => add(keys, key, words) },
  xlen: { arity: 2, run: (keys, [key]) => keys.find('stream', key)?.length ?? 0 },
  xrange: {
    arity: -4,
    run: (keys, [key, from, to, ...words]) => range(keys, key, [from, to], words, 'first'),
  },
  xrevrange: {
    arity: -4,
    run: (keys, [key, to, from, ...words]) => range(keys, key, [from, to], words, 'last'),
  },
  xdel: {
    arity: -3,
    writes: true,
    run(keys, [key = '', ...ids]) {
      const stream = keys.find('stream', key);
      if (!stream) return 0;
      const wanted = ids.map((id) => idIn(id, 0));
      const count = countOf(wanted, (id) => stream.remove(id));
      if (count > 0) keys.changed(key, 1);
      return count;
    },
  },
  xtrim: {
    arity: -4,
    writes: true,
    run(keys, [key = '', ...words]) {
      const { cut, rest } = cutIn(words);
      if (!cut || rest.length > 0) throw syntaxError();
      const stream = keys.find('stream', key);
      const count = stream ? cut(stream) : 0;
      if (count > 0) keys.changed(key, 1);
      return count;
    },
  },
};

function add(keys: Keyspace, key: Bytes, words: readonly Bytes[]): Reply {
  const { cut, rest } = cutIn(words);
  const [idWord, ...fields] = rest;
  if (fields.length === 0 || fields.length % 2 === 1) throw wrongNumber('xadd');
  const given = idWord === '*' ? undefined : idIn(idWord, 0);
  if (given && compareIds(given, [0, 0]) === 0)
    throw new ReplyError('ERR The ID specified in XADD must be greater than 0-0');
  const last = keys.find('stream', key)?.lastId ?? [0, 0];
  const id = given ?? idAfter(last, keys.now);
  if (compareIds(id, last) <= 0)
    throw new ReplyError('ERR The ID specified in XADD is equal or smaller than the target stream top item');
  const stream = keys.open('stream', key);
  stream.add(id, fields);
  cut?.(stream);
  keys.changed(key, 1);
  return idText(id);
}

function idAfter([time, number]: EntryId, now: number): EntryId {
  return now > time ? [now, 0] : [time, number + 1];
}

/** Reads `MAXLEN` or `MINID` at the front of words. An approximate `MINID` cuts exactly: the store has none. */
function cutIn([kind = '', ...words]: readonly Bytes[]): { cut?: (stream: Stream) => number; rest: Bytes[] } {
  const name = kind.toLowerCase();
  if (name !== 'maxlen' && name !== 'minid') return { rest: [kind, ...words] };
  const isMarked = words[0] === '~' || words[0] === '=';
  const [limit, ...rest] = isMarked ? words.slice(1) : words;
  if (name === 'minid') {
    const id = idIn(limit, 0);
    return { cut: (stream) => stream.cutBefore(id), rest };
  }
  const length = integerIn(limit);
  if (length < 0) throw new ReplyError('ERR The MAXLEN argument must be >= 0.');
  return { cut: (stream) => stream.cutTo(length, words[0] === '~'), rest };
}

function range(
  keys: Keyspace,
  key: Bytes | undefined,
  [from, to]: [Bytes | undefined, Bytes | undefined],
  words: readonly Bytes[],
  side: 'first' | 'last',
): Reply {
  const limits = [limitIn(from, 'lower'), limitIn(to, 'upper')] as const;
  if (words.length > 0 && (words.length !== 2 || words[0]?.toLowerCase() !== 'count')) throw syntaxError();
  const most = words.length > 0 ? Math.max(integerIn(words[1]), 0) : Number.POSITIVE_INFINITY;
  const stream = keys.find('stream', key);
  if (!stream) return [];
  if (most === 0) return null;
  return stream.range(...limits, most, side).map(({ id, fields }: Entry) => [idText(id), fields]);
}

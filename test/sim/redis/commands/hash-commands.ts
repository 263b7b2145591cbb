import { integerIn } from '../numbers.ts';
import { ReplyError, wrongNumber } from '../reply.ts';
import { type Commands, countOf, pairsOf } from './command.ts';

export const hashCommands: Commands = {
  hget: { arity: 3, run: (keys, [key, field = '']) => keys.find('hash', key)?.get(field) ?? null },
  hmget: {
    arity: -3,
    run(keys, [key, ...fields]) {
      const hash = keys.find('hash', key);
      return fields.map((field) => hash?.get(field) ?? null);
    },
  },
  hgetall: { arity: 2, run: (keys, [key]) => [...(keys.find('hash', key) ?? [])].flat() },
  hkeys: { arity: 2, run: (keys, [key]) => [...(keys.find('hash', key)?.keys() ?? [])] },
  hvals: { arity: 2, run: (keys, [key]) => [...(keys.find('hash', key)?.values() ?? [])] },
  hlen: { arity: 2, run: (keys, [key]) => keys.find('hash', key)?.size ?? 0 },
  hexists: {
    arity: 3,
    run: (keys, [key, field = '']) => Number(keys.find('hash', key)?.has(field) ?? false),
  },
  hset: {
    arity: -4,
    writes: true,
    run(keys, [key = '', ...fields]) {
      if (fields.length % 2 === 1) throw wrongNumber('hset');
      const hash = keys.open('hash', key);
      const before = hash.size;
      for (const [field, value] of pairsOf(fields)) hash.set(field, value);
      keys.changed(key, hash.size);
      return hash.size - before;
    },
  },
  hsetnx: {
    arity: 4,
    writes: true,
    run(keys, [key = '', field = '', value = '']) {
      if (keys.find('hash', key)?.has(field)) return 0;
      keys.open('hash', key).set(field, value);
      keys.changed(key, 1);
      return 1;
    },
  },
  hdel: {
    arity: -3,
    writes: true,
    run(keys, [key = '', ...fields]) {
      const hash = keys.find('hash', key);
      const count = hash ? countOf(fields, (field) => hash.delete(field)) : 0;
      if (hash && count > 0) keys.changed(key, hash.size);
      return count;
    },
  },
  hincrby: {
    arity: 4,
    writes: true,
    run(keys, [key = '', field = '', by]) {
      const step = integerIn(by);
      const before = keys.find('hash', key)?.get(field) ?? '0';
      const sum = integerIn(before, 'hash value is not an integer') + step;
      if (!Number.isSafeInteger(sum)) throw new ReplyError('ERR increment or decrement would overflow');
      keys.open('hash', key).set(field, String(sum));
      keys.changed(key, 1);
      return sum;
    },
  },
};

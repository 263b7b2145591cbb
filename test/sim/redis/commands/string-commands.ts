import type { Keyspace } from '../keyspace.ts';
import { integerIn } from '../numbers.ts';
import { type Bytes, ok, type Reply, ReplyError, syntaxError } from '../reply.ts';
import type { Commands } from './command.ts';

interface SetOptions {
  condition?: 'nx' | 'xx';
  expiresAt?: number;
}

export const stringCommands: Commands = {
  get: { arity: 2, run: (keys, [key]) => keys.find('string', key)?.text ?? null },
  set: {
    arity: -3,
    writes: true,
    run: (keys, [key = '', text = '', ...words]) => set(keys, key, text, words),
  },
  setnx: {
    arity: 3,
    writes: true,
    run: (keys, [key = '', text = '']) => (set(keys, key, text, ['nx']) === ok ? 1 : 0),
  },
};

function set(keys: Keyspace, key: Bytes, text: Bytes, words: readonly Bytes[]): Reply {
  const { condition, expiresAt } = optionsIn(keys, words);
  if (condition && keys.has(key) !== (condition === 'xx')) return null;
  keys.putText(key, text, expiresAt);
  if (expiresAt !== undefined && expiresAt <= keys.now) keys.remove(key);
  return ok;
}

function optionsIn(keys: Keyspace, words: readonly Bytes[]): SetOptions {
  const options: SetOptions = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]?.toLowerCase();
    if ((word === 'nx' || word === 'xx') && !options.condition) options.condition = word;
    else if ((word === 'px' || word === 'ex' || word === 'pxat') && options.expiresAt === undefined) {
      at += 1;
      options.expiresAt = expiryIn(word, words[at], keys.now);
    } else throw syntaxError();
  }
  return options;
}

function expiryIn(unit: 'px' | 'ex' | 'pxat', text: Bytes | undefined, now: number): number {
  if (text === undefined) throw syntaxError();
  const number = integerIn(text);
  if (number <= 0) throw new ReplyError("ERR invalid expire time in 'set' command");
  return unit === 'pxat' ? number : now + number * (unit === 'ex' ? 1_000 : 1);
}

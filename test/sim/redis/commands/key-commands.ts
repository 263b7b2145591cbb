import { integerIn } from '../numbers.ts';
import type { Bytes } from '../reply.ts';
import { type Commands, countOf } from './command.ts';

const removal = {
  arity: -2,
  writes: true,
  run: (keys, names) => countOf(names, (name) => keys.remove(name)),
} satisfies Commands[string];

/** Commands on keys with values of any kind. */
export const keyCommands: Commands = {
  del: removal,
  unlink: removal,
  exists: { arity: -2, run: (keys, names) => countOf(names, (name) => keys.has(name)) },
  type: { arity: 2, run: (keys, [key]) => keys.stored(key)?.kind ?? 'none' },
  keys: { arity: 2, run: (keys, [pattern = '']) => keys.keys().filter(matching(pattern)) },
  /** All keys are on the first page. */
  scan: {
    arity: -2,
    run(keys, args) {
      const at = args.findIndex((word) => word.toLowerCase() === 'match');
      return ['0', keys.keys().filter(at < 0 ? () => true : matching(args[at + 1] ?? ''))];
    },
  },
  pexpire: {
    arity: 3,
    writes: true,
    run: (keys, [key = '', ms]) => Number(keys.expire(key, keys.now + integerIn(ms))),
  },
  pexpireat: {
    arity: 3,
    writes: true,
    run: (keys, [key = '', at]) => Number(keys.expire(key, integerIn(at))),
  },
  persist: {
    arity: 2,
    writes: true,
    run: (keys, [key = '']) => Number(typeof keys.expiryOf(key) === 'number' && keys.expire(key, undefined)),
  },
  pttl: {
    arity: 2,
    run(keys, [key = '']) {
      const at = keys.expiryOf(key);
      if (at === null) return -2;
      return at === undefined ? -1 : at - keys.now;
    },
  },
};

/** Returns a test of names for a pattern with `*`, `?`, `[...]` and `\`. */
function matching(pattern: Bytes): (name: Bytes) => boolean {
  const token = /\\(.)|(\*+)|(\?)|\[(\^?)((?:\\.|[^\]])*)\]|(.)/gs;
  const source = pattern.replace(token, (_, escaped, stars, any, not, set, plain) => {
    if (stars) return '.*';
    if (any) return '.';
    if (set !== undefined) return `[${not}${set.replace(/\\?([^-])/g, '\\$1')}]`;
    return (escaped ?? plain).replace(/[$()*+.?[\\\]^{|}]/, '\\$&');
  });
  const expression = new RegExp(`^${source}$`, 's');
  return (name) => expression.test(name);
}

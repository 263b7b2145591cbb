import { integerIn } from '../numbers.ts';
import type { Bytes } from '../reply.ts';
import { type Commands, countOf } from './command.ts';

export const setCommands: Commands = {
  sadd: {
    arity: -3,
    writes: true,
    run(keys, [key = '', ...members]) {
      const set = keys.open('set', key);
      const before = set.size;
      for (const member of members) set.add(member);
      if (set.size > before) keys.changed(key, set.size);
      return set.size - before;
    },
  },
  srem: {
    arity: -3,
    writes: true,
    run(keys, [key = '', ...members]) {
      const set = keys.find('set', key);
      const count = set ? countOf(members, (member) => set.delete(member)) : 0;
      if (set && count > 0) keys.changed(key, set.size);
      return count;
    },
  },
  smembers: { arity: 2, run: (keys, [key]) => membersOf(keys.find('set', key)) },
  /** The first members, and not any: a simulation repeats itself. */
  srandmember: {
    arity: -2,
    run(keys, [key, count]) {
      const members = membersOf(keys.find('set', key));
      return count === undefined ? (members[0] ?? null) : members.slice(0, Math.abs(integerIn(count)));
    },
  },
};

function membersOf(set: ReadonlySet<Bytes> = new Set()): Bytes[] {
  return [...set];
}

import type { Keyspace } from '../keyspace.ts';
import type { Bytes, Reply } from '../reply.ts';

/** A command of Redis. */
export interface Command {
  /** The number of its words, with its name; negative for the least number. */
  arity: number;
  /** True for a command that a script without writes may not call. */
  writes?: boolean;
  run(keys: Keyspace, args: readonly Bytes[]): Reply;
}

export type Commands = Readonly<Record<string, Command>>;

/** Returns the pairs of a list. */
export function pairsOf(list: readonly Bytes[]): [Bytes, Bytes][] {
  const pairs: [Bytes, Bytes][] = [];
  for (let at = 0; at < list.length; at += 2) pairs.push([list[at] ?? '', list[at + 1] ?? '']);
  return pairs;
}

/** Returns the number of items for which something was done. */
export function countOf<T>(items: readonly T[], isDone: (item: T) => boolean): number {
  return items.reduce((count, item) => count + (isDone(item) ? 1 : 0), 0);
}

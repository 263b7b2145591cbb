import { type Bytes, wrongType } from './reply.ts';
import { SortedSet } from './sorted-set.ts';
import { Stream } from './stream.ts';

/** The kinds of values, under the names that `TYPE` has for them. */
interface Kinds {
  string: { text: Bytes };
  hash: Map<Bytes, Bytes>;
  set: Set<Bytes>;
  zset: SortedSet;
  stream: Stream;
}

type Kind = keyof Kinds;
type Value = { [K in Kind]: { kind: K; value: Kinds[K] } }[Kind];
type Stored = Value & { expiresAt?: number };

const made: { [K in Kind]: () => Kinds[K] } = {
  string: () => ({ text: '' }),
  hash: () => new Map(),
  set: () => new Set(),
  zset: () => new SortedSet(),
  stream: () => new Stream(),
};

/** The keys of a server and their values. A key that has expired is gone for every reader. */
export class Keyspace {
  #keys = new Map<Bytes, Stored>();
  readonly #now: () => number;
  /** The number of changes, as `dirty` of Redis: a call that does not raise it has written nothing. */
  changes = 0;

  /** @param now the time of the current call in ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  get now(): number {
    return this.#now();
  }

  /** Returns the value of a key, or undefined. @throws ReplyError for a value of another kind */
  find<K extends Kind>(kind: K, key: Bytes | undefined): Kinds[K] | undefined {
    const stored = this.stored(key);
    if (stored && stored.kind !== kind) throw wrongType();
    return stored?.value as Kinds[K] | undefined;
  }

  /** Returns the value of a key; makes an empty one. @throws ReplyError for a value of another kind */
  open<K extends Kind>(kind: K, key: Bytes | undefined): Kinds[K] {
    const found = this.find(kind, key);
    if (found) return found;
    const value = made[kind]();
    this.#keys.set(key ?? '', { kind, value } as Stored);
    return value;
  }

  /** Replaces the value of a key, and its time to live. */
  putText(key: Bytes, text: Bytes, expiresAt?: number): void {
    this.#keys.set(key, { kind: 'string', value: { text }, ...(expiresAt !== undefined && { expiresAt }) });
    this.changes += 1;
  }

  /** Counts a change, and removes the key of a value that is empty now: Redis keeps no empty value but a stream. */
  changed(key: Bytes, size: number): void {
    this.changes += 1;
    if (size === 0) this.#keys.delete(key);
  }

  remove(key: Bytes): boolean {
    if (!this.stored(key)) return false;
    this.changes += 1;
    return this.#keys.delete(key);
  }

  has(key: Bytes): boolean {
    return this.stored(key) !== undefined;
  }

  /** Returns the time at which a key expires, in epoch ms; undefined for never, null for no such key. */
  expiryOf(key: Bytes): number | undefined | null {
    const stored = this.stored(key);
    return stored ? stored.expiresAt : null;
  }

  /** Sets the time at which a key expires. Removes the key when that time has passed. Returns whether there was one. */
  expire(key: Bytes, at: number | undefined): boolean {
    const stored = this.stored(key);
    if (!stored) return false;
    this.changes += 1;
    if (at === undefined) delete stored.expiresAt;
    else if (at <= this.now) this.#keys.delete(key);
    else stored.expiresAt = at;
    return true;
  }

  /** Returns all keys, in the order in which they came. */
  keys(): Bytes[] {
    return [...this.#keys.keys()].filter((key) => this.has(key));
  }

  stored(key: Bytes | undefined): Stored | undefined {
    const stored = this.#keys.get(key ?? '');
    if (stored?.expiresAt === undefined || stored.expiresAt > this.now) return stored;
    this.#keys.delete(key ?? '');
    return undefined;
  }

  /** Copies all values. */
  copy(): ReadonlyMap<Bytes, Stored> {
    return copyOf(this.#keys);
  }

  /** Takes copies of values in the place of the present ones. */
  restore(keys: ReadonlyMap<Bytes, Stored>): void {
    this.#keys = copyOf(keys);
  }

  clear(): void {
    this.#keys.clear();
    this.changes += 1;
  }
}

export type KeyspaceCopy = ReturnType<Keyspace['copy']>;

function copyOf(keys: ReadonlyMap<Bytes, Stored>): Map<Bytes, Stored> {
  return new Map(Array.from(keys, ([key, stored]) => [key, { ...stored, value: cloned(stored) } as Stored]));
}

function cloned({ kind, value }: Value): Kinds[Kind] {
  if (kind === 'hash') return new Map(value);
  if (kind === 'set') return new Set(value);
  return kind === 'string' ? { ...value } : value.clone();
}

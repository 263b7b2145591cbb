import { createHash } from 'node:crypto';
import type { StoredMemory } from '@agentmesh/agent';
import { impactOf, memoryJson, memoryText, textTerms } from '@agentmesh/agent/internal';
import { type MemoryKeys, shortId } from '@agentmesh/protocol';

/**
 * Limits of one script call: it takes some ms, in which the server does nothing else. A single memory may
 * have more terms.
 */
const maxMemories = 50;
const maxPostings = 2_000;

/** A call of a script on one user's keys. */
export interface MemoryCall {
  keys: string[];
  args: string[];
}

/** A memory in the form in which it is written. */
export interface PreparedMemory {
  memory: StoredMemory;
  entry: string;
  /** The terms of the memory, each with its weight. */
  terms: [term: string, impact: number][];
}

/** Prepares a memory for writing. @throws MeshError `invalid_argument` for a memory that JSON cannot hold */
export function prepareMemory(memory: StoredMemory, addedMs: number): PreparedMemory {
  const { counts, length } = textTerms(memoryText(memory));
  const terms = [...counts].map(([term, count]): [string, number] => [
    shortTerm(term),
    Number(impactOf(count, length).toFixed(4)),
  ]);
  return { memory, entry: `${addedMs} ${memoryJson(memory)}`, terms };
}

/** Returns the text that stands for a term in a key: the term itself, or its hash if the term is long. */
export function shortTerm(term: string): string {
  if (term.length <= 24) return term;
  return `#${createHash('sha256').update(term).digest('base64url').slice(0, 22)}`;
}

/** Cuts memories into batches that one script call may take. */
export function batches(memories: readonly PreparedMemory[]): PreparedMemory[][] {
  const all: PreparedMemory[][] = [];
  let postings = 0;
  for (const memory of memories) {
    const batch = all.at(-1);
    postings += memory.terms.length;
    if (batch && batch.length < maxMemories && postings <= maxPostings) batch.push(memory);
    else {
      all.push([memory]);
      postings = memory.terms.length;
    }
  }
  return all;
}

export interface AddBatch {
  memories: readonly PreparedMemory[];
  /** True if the memories must get vectors. */
  embed: boolean;
  ttlMs: number | undefined;
  /** Moves the session's mark; when the stored mark is no longer `from`, nothing is added. */
  mark?: { field: string; from: string; to: string };
}

/** Returns the call of the script that adds a batch. */
export function addCall(keys: MemoryKeys, { memories, embed, ttlMs, mark }: AddBatch): MemoryCall {
  const all = new KeyList([keys.meta, keys.entries, keys.terms, keys.order, keys.unembedded]);
  const written = memories.map(({ memory, entry, terms }) => ({
    session: all.at(keys.session(memory.sessionId)),
    member: shortId(memory.id),
    entry,
    terms: terms.map(([term]) => term).join(' '),
    postings: terms.map(([term, impact]) => [all.at(keys.posting(term)), impact]),
  }));
  const batch = {
    memories: written,
    embed,
    ...(ttlMs !== undefined && { ttl: ttlMs }),
    ...(mark && { mark }),
  };
  return { keys: all.keys, args: [JSON.stringify(batch)] };
}

/** A memory that is to be removed. */
export interface DroppedMemory {
  number: number;
  id: string;
  sessionId?: string | undefined;
  terms: readonly string[];
}

/**
 * The mark of a session that is removed. With `from`, the mark must still be `from`; otherwise nothing is
 * done.
 */
export interface Unmark {
  field: string;
  from?: string;
}

/** Returns the call of the script that removes memories, and the mark of a session. */
export function dropCall(keys: MemoryKeys, memories: readonly DroppedMemory[], unmark?: Unmark): MemoryCall {
  const { meta, entries, terms, order, unembedded, vectors } = keys;
  const all = new KeyList([meta, entries, terms, order, unembedded, vectors]);
  const dropped = memories.map(({ number, id, sessionId, terms: words }) => ({
    number,
    session: all.at(keys.session(sessionId)),
    member: shortId(id),
    postings: words.map((term) => all.at(keys.posting(term))),
  }));
  return {
    keys: all.keys,
    args: [JSON.stringify({ memories: dropped, ...(unmark !== undefined && { unmark }) })],
  };
}

/** The keys of a script call, each once. */
export class KeyList {
  readonly keys: string[] = [];
  readonly #places = new Map<string, number>();

  constructor(keys: readonly string[]) {
    for (const key of keys) this.at(key);
  }

  /** Returns the index of the key in the list, from 1. */
  at(key: string): number {
    const index = this.#places.get(key) ?? this.keys.push(key);
    this.#places.set(key, index);
    return index;
  }
}

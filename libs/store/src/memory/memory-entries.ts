import type { StoredMemory } from '@agentmesh/agent';
import { type MemoryKeys, meshTime } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { type DroppedMemory, dropCall, type Unmark } from './memory-batch.ts';
import { dropEmptyScript, dropMemoriesScript } from './memory-scripts.ts';

/** The place of one user's memories in Redis. */
export interface MemoryPlace {
  connection: RedisConnection;
  keys: MemoryKeys;
}

export interface MemoryText {
  memory: StoredMemory;
  /** The text that Redis holds. */
  entry: string;
  addedMs: number;
}

/** Tells whether the memory was kept longer than `ttlMs`. */
export function isExpired({ addedMs }: MemoryText, ttlMs: number | undefined): boolean {
  return ttlMs !== undefined && addedMs < meshTime() - ttlMs;
}

const dropSize = 50;

/** Reads memories by their numbers; undefined for memories that are gone. */
export async function readEntries(
  { connection, keys }: MemoryPlace,
  numbers: readonly number[],
): Promise<(MemoryText | undefined)[]> {
  if (numbers.length === 0) return [];
  const reply = await connection.run((redis) => redis.hmget(keys.entries, ...numbers.map(String)));
  return reply.map((entry) => {
    if (entry === null) return undefined;
    const space = entry.indexOf(' ');
    return { entry, addedMs: Number(entry.slice(0, space)), memory: JSON.parse(entry.slice(space + 1)) };
  });
}

/** Reads the numbers of memories in order, beginning after the number `after`. */
export async function readOrder(
  { connection, keys }: MemoryPlace,
  after: number,
  limit: number,
): Promise<number[]> {
  const reply = await connection.run((redis) =>
    redis.zrangebyscore(keys.order, `(${after}`, '+inf', 'LIMIT', 0, limit),
  );
  return reply.map(Number);
}

/** Reads the numbers of a session's memories, by event id as `shortId` writes it. */
export async function readSession(
  { connection, keys }: MemoryPlace,
  sessionId: string,
): Promise<Map<string, number>> {
  const key = keys.session(sessionId);
  const reply = await connection.run((redis) => redis.zrange(key, '0', '-1', 'WITHSCORES'));
  return new Map(reply.flatMap((id, at) => (at % 2 ? [] : [[id, Number(reply[at + 1])]])));
}

/**
 * Removes memories by their numbers. Returns how many were removed, or undefined when the session's mark is
 * no longer the mark in `unmark`: another process is adding the session.
 */
export async function dropNumbers(
  place: MemoryPlace,
  numbers: readonly number[],
  unmark?: Unmark,
): Promise<number | undefined> {
  const { connection, keys } = place;
  let dropped = 0;
  for (let at = 0; at === 0 || at < numbers.length; at += dropSize) {
    const batch = numbers.slice(at, at + dropSize);
    const [entries, terms] = await Promise.all([
      readEntries(place, batch),
      batch.length > 0 ? connection.run((redis) => redis.hmget(keys.terms, ...batch.map(String))) : [],
    ]);
    const memories = batch.flatMap((number, n): DroppedMemory[] => {
      const { memory } = entries[n] ?? {};
      return memory
        ? [{ number, id: memory.id, sessionId: memory.sessionId, terms: terms[n]?.split(' ') ?? [] }]
        : [];
    });
    // The first batch removes the mark; later batches require that it is still absent.
    const batchUnmark = at > 0 && unmark?.from !== undefined ? { ...unmark, from: '' } : unmark;
    const call = dropCall(keys, memories, batchUnmark);
    const count = await connection.script<number>(dropMemoriesScript, call.keys, call.args);
    if (count < 0) return undefined;
    dropped += count;
  }
  return dropped;
}

/** Removes all memories of a user. If the process dies in between, the remaining memories are unchanged. */
export async function dropAll(place: MemoryPlace): Promise<number> {
  const { connection, keys } = place;
  let dropped = 0;
  for (let after = 0; ; ) {
    const numbers = await readOrder(place, after, dropSize);
    const last = numbers.at(-1);
    if (last === undefined) break;
    dropped += (await dropNumbers(place, numbers)) ?? 0;
    after = last;
  }
  const { order, meta, entries, terms, vectors, unembedded } = keys;
  await connection.script(dropEmptyScript, [order, meta, entries, terms, vectors, unembedded], []);
  return dropped;
}

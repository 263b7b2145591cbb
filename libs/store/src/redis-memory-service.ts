import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type AddEventsRequest,
  type AddMemoryRequest,
  changeOf,
  type FoundMemory,
  isOlder,
  type ListMemoriesRequest,
  type MemoryMark,
  type MemoryOwner,
  type MemoryPage,
  type MemoryService,
  pageLimit,
  rememberedEntry,
  rememberedEvent,
  type SearchMemoryRequest,
  type Session,
  type SessionChange,
  type StoredMemory,
  searchLimit,
} from '@agentmesh/agent';
import { encodeToken, type Keys, MeshError, shortId } from '@agentmesh/protocol';
import { type AddBatch, addCall, batches, prepareMemory } from './memory-batch.ts';
import {
  dropAll,
  dropNumbers,
  type MemoryPlace,
  type MemoryText,
  readEntries,
  readOrder,
  readSession,
} from './memory-entries.ts';
import { fuse } from './memory-fusion.ts';
import { addMemoriesScript } from './memory-scripts.ts';
import type { MemoryVectors } from './memory-vectors.ts';
import type { RedisConnection } from './redis-connection.ts';
import { searchWords } from './search-words.ts';

export interface RedisMemoryOptions {
  connection: RedisConnection;
  keys: Keys;
  /** How long a memory is kept after it was added, ms; default for ever. */
  ttlMs?: number | undefined;
  /** Finds memories by their meaning too. */
  vectors?: MemoryVectors | undefined;
}

/** Memories that a search by words, and one by meaning, bring to the common ranking. */
const fusedWidth = 50;
/** How often an addition begins anew, as others add the same session. */
const maxAttempts = 30;
/** Expired memories that may be among the best, beside those that are wanted. */
const expiredWidth = 50;
/** Expired memories that one addition removes. */
const sweepSize = 100;

/**
 * Memories in Redis, found by an inverted index: for each term of a user a sorted set of the memories that have it, by what it is worth there. All of
 * a user lies in one slot of a Redis Cluster. A memory is added in one step with all its terms; so it is removed.
 */
export class RedisMemoryService implements MemoryService {
  readonly #options: RedisMemoryOptions;

  constructor(options: RedisMemoryOptions) {
    this.#options = options;
  }

  async addSessionToMemory(session: Session): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      if (await this.#addSession(session)) return;
      // Somebody else is at the same session; of two that disagree on it one must get through.
      await pause(Math.random() * 10 * attempt);
    }
    throw new MeshError('aborted', `others add session ${session.id} to memory all the time; add it again`);
  }

  async addEventsToMemory({ events, sessionId, customMetadata, ...owner }: AddEventsRequest): Promise<void> {
    const about = {
      ...(sessionId !== undefined && { sessionId }),
      ...(customMetadata && { customMetadata }),
    };
    await this.#add(
      this.#place(owner),
      events.flatMap((event) => rememberedEvent(event, about) ?? []),
    );
  }

  async addMemory({ memories, ...owner }: AddMemoryRequest): Promise<void> {
    const entries = memories.map((entry) => rememberedEntry({ ...entry, id: entry.id ?? randomUUID() }));
    await this.#add(this.#place(owner), entries);
  }

  async searchMemory({ query, limit, ...owner }: SearchMemoryRequest): Promise<{ memories: FoundMemory[] }> {
    const wanted = searchLimit(limit);
    const place = this.#place(owner);
    const { vectors, ttlMs } = this.#options;
    const many = Math.max(wanted, vectors ? fusedWidth : 0) + (ttlMs === undefined ? 0 : expiredWidth);
    const [byWords, byMeaning] = await Promise.all([
      searchWords(place, query, many),
      vectors?.search(place, query, many),
    ]);
    const ranked = byMeaning && byMeaning.length > 0 ? fuse([byWords, byMeaning]) : byWords;
    const best = ranked.slice(0, many);
    const entries = await readEntries(
      place,
      best.map(({ number }) => number),
    );
    const memories = entries.flatMap((found, at): FoundMemory[] =>
      found && !this.#isExpired(found) ? [{ ...found.memory, score: best[at]?.score ?? 0 }] : [],
    );
    return { memories: memories.slice(0, wanted) };
  }

  async listMemories({ after = '0', limit, ...owner }: ListMemoriesRequest): Promise<MemoryPage> {
    const place = this.#place(owner);
    const size = pageLimit(limit);
    const numbers = await readOrder(place, Number(after) || 0, size + 1);
    const shown = numbers.slice(0, size);
    const entries = await readEntries(place, shown);
    return {
      memories: entries.flatMap((found) => (found && !this.#isExpired(found) ? [found.memory] : [])),
      ...(numbers.length > size && { next: String(shown.at(-1)) }),
    };
  }

  async findMark({
    sessionId,
    ...owner
  }: MemoryOwner & { sessionId: string }): Promise<MemoryMark | undefined> {
    const mark = await readMark(this.#place(owner), sessionId);
    return mark === '' ? undefined : JSON.parse(mark);
  }

  async deleteMemories({ sessionId, ...owner }: MemoryOwner & { sessionId?: string }): Promise<number> {
    const place = this.#place(owner);
    if (sessionId === undefined) return await dropAll(place);
    const numbers = await readSession(place, sessionId);
    return await dropNumbers(place, [...numbers.values()], markField(sessionId));
  }

  /** Returns false when somebody else is at the session. */
  async #addSession(session: Session): Promise<boolean> {
    const place = this.#place(session);
    const { id: sessionId } = session;
    const field = markField(sessionId);
    const from = await readMark(place, sessionId);
    const mark: MemoryMark | undefined = from === '' ? undefined : JSON.parse(from);
    const change = changeOf(session, mark);
    if (change.follows) return await this.#addChange(place, sessionId, change, { field, from });
    const numbers = await readSession(place, sessionId);
    if (isOlder(change, mark, (id) => numbers.has(shortId(id)))) return true;
    const wanted = new Set(change.events.map(({ event }) => shortId(event.id)));
    const stale = [...numbers].flatMap(([id, number]) => (wanted.has(id) ? [] : [number]));
    const drops = change.replaces && (stale.length > 0 || from !== '');
    // The mark goes first: after a process that dies here the next one looks at the whole session.
    if (drops) await dropNumbers(place, stale, field);
    const events = change.events.filter(({ event }) => !numbers.has(shortId(event.id)));
    return await this.#addChange(place, sessionId, { ...change, events }, { field, from: drops ? '' : from });
  }

  /** Adds in order, and with each batch moves the mark: a process that dies leaves the beginning, and the next one goes on behind it. */
  async #addChange(
    place: MemoryPlace,
    sessionId: string,
    { events, mark }: SessionChange,
    { field, from }: { field: string; from: string },
  ): Promise<boolean> {
    const seqs = new Map(events.map(({ seq, event }) => [event.id, seq]));
    const memories = events.flatMap(({ event }) => rememberedEvent(event, { sessionId }) ?? []);
    if (!mark) return await this.#add(place, memories);
    const end = JSON.stringify(mark);
    if (memories.length === 0)
      return end === from || (await this.#addBatch(place, { memories: [], mark: { field, from, to: end } }));
    let before = from;
    return await this.#add(place, memories, (last, isEnd) => {
      const reached = JSON.stringify({ seq: seqs.get(last.id) ?? 0, eventId: last.id });
      const step = { field, from: before, to: isEnd ? end : reached };
      before = step.to;
      return step;
    });
  }

  /** Returns false when a batch was refused for its mark: those before it are added. */
  async #add(
    place: MemoryPlace,
    memories: readonly StoredMemory[],
    markAfter?: (last: StoredMemory, isEnd: boolean) => AddBatch['mark'],
  ): Promise<boolean> {
    if (memories.length === 0) return true;
    const { vectors } = this.#options;
    const now = Date.now();
    const all = batches(memories.map((memory) => prepareMemory(memory, now)));
    await vectors?.adopt(place);
    for (const [at, batch] of all.entries()) {
      const last = batch.at(-1)?.memory;
      const mark = last && markAfter?.(last, at === all.length - 1);
      if (!(await this.#addBatch(place, { memories: batch, ...(mark && { mark }) }))) return false;
    }
    await vectors?.embedAll(place);
    await this.#sweep(place);
    return true;
  }

  async #addBatch(place: MemoryPlace, batch: Pick<AddBatch, 'memories' | 'mark'>): Promise<boolean> {
    const { ttlMs, vectors } = this.#options;
    const call = addCall(place.keys, { ...batch, ttlMs, embed: vectors !== undefined });
    return (await place.connection.script<number>(addMemoriesScript, call.keys, call.args)) === 1;
  }

  /** Removes the oldest that have expired; those of a user who adds no more expire with their keys. */
  async #sweep(place: MemoryPlace): Promise<void> {
    if (this.#options.ttlMs === undefined) return;
    const oldest = await readOrder(place, 0, sweepSize);
    const entries = await readEntries(place, oldest);
    const expired = oldest.filter((_, at) => entries[at] && this.#isExpired(entries[at]));
    if (expired.length > 0) await dropNumbers(place, expired);
  }

  #isExpired({ addedMs }: MemoryText): boolean {
    const { ttlMs } = this.#options;
    return ttlMs !== undefined && addedMs < Date.now() - ttlMs;
  }

  #place({ appName, userId }: MemoryOwner): MemoryPlace {
    const { connection, keys } = this.#options;
    return { connection, keys: keys.memory(appName, userId) };
  }
}

/** Where it is kept how far a session is in memory. */
function markField(sessionId: string): string {
  return `mark:${encodeToken(sessionId)}`;
}

async function readMark({ connection, keys }: MemoryPlace, sessionId: string): Promise<string> {
  return (await connection.run((redis) => redis.hget(keys.meta, markField(sessionId)))) ?? '';
}

import { randomUUID } from 'node:crypto';
import type {
  AddEventsRequest,
  AddMemoryRequest,
  FoundMemory,
  ListMemoriesRequest,
  MemoryMark,
  MemoryOwner,
  MemoryPage,
  MemoryService,
  SearchMemoryRequest,
  Session,
} from '@agentmesh/agent';
import { pageLimit, rememberedEntry, rememberedEvent, searchLimit } from '@agentmesh/agent/internal';
import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { MemoryAdder, markField, readMark } from './memory-adder.ts';
import {
  dropAll,
  dropNumbers,
  isExpired,
  type MemoryPlace,
  readEntries,
  readOrder,
  readSession,
} from './memory-entries.ts';
import { fuse } from './memory-fusion.ts';
import type { MemoryVectors } from './memory-vectors.ts';
import { searchWords } from './search-words.ts';

export interface RedisMemoryOptions {
  connection: RedisConnection;
  keys: Keys;
  /** Time for which a memory is kept after it was added, ms; default: for ever. */
  ttlMs?: number | undefined;
  /** Finds memories by meaning too. */
  vectors?: MemoryVectors | undefined;
}

/** Number of memories from a search by words, and from a search by meaning, that enter the common ranking. */
const fusedWidth = 50;
/** Number of expired memories that may be among the best, beside the wanted memories. */
const expiredWidth = 50;

/**
 * Memories in Redis with an inverted index: for each term of a user a sorted set of the memories with the
 * term, by the weight of the term in each memory. All keys of a user lie in one slot of a Redis Cluster. One
 * atomic step adds or removes a memory with all its terms.
 */
export class RedisMemoryService implements MemoryService {
  readonly #options: RedisMemoryOptions;
  readonly #adder: MemoryAdder;

  constructor(options: RedisMemoryOptions) {
    this.#options = options;
    this.#adder = new MemoryAdder(options);
  }

  async addSessionToMemory(session: Session): Promise<void> {
    await this.#adder.addSession(this.#place(session), session);
  }

  async addEventsToMemory({ events, sessionId, customMetadata, ...owner }: AddEventsRequest): Promise<void> {
    const about = {
      ...(sessionId !== undefined && { sessionId }),
      ...(customMetadata && { customMetadata }),
    };
    await this.#adder.add(
      this.#place(owner),
      events.flatMap((event) => rememberedEvent(event, about) ?? []),
    );
  }

  async addMemory({ memories, ...owner }: AddMemoryRequest): Promise<void> {
    const entries = memories.map((entry) => rememberedEntry({ ...entry, id: entry.id ?? randomUUID() }));
    await this.#adder.add(this.#place(owner), entries);
  }

  async searchMemory({ query, limit, ...owner }: SearchMemoryRequest): Promise<{ memories: FoundMemory[] }> {
    const maxResults = searchLimit(limit);
    const place = this.#place(owner);
    const { vectors, ttlMs } = this.#options;
    const candidateCount =
      Math.max(maxResults, vectors ? fusedWidth : 0) + (ttlMs === undefined ? 0 : expiredWidth);
    const [byWords, byMeaning] = await Promise.all([
      searchWords(place, query, candidateCount),
      vectors?.search(place, query, candidateCount),
    ]);
    const ranked = byMeaning && byMeaning.length > 0 ? fuse([byWords, byMeaning]) : byWords;
    const best = ranked.slice(0, candidateCount);
    const entries = await readEntries(
      place,
      best.map(({ number }) => number),
    );
    const memories = entries.flatMap((found, at): FoundMemory[] =>
      found && !isExpired(found, ttlMs) ? [{ ...found.memory, score: best[at]?.score ?? 0 }] : [],
    );
    return { memories: memories.slice(0, maxResults) };
  }

  async listMemories({ after = '0', limit, ...owner }: ListMemoriesRequest): Promise<MemoryPage> {
    const place = this.#place(owner);
    const size = pageLimit(limit);
    const numbers = await readOrder(place, Number(after) || 0, size + 1);
    const pageNumbers = numbers.slice(0, size);
    const entries = await readEntries(place, pageNumbers);
    return {
      memories: entries.flatMap((found) =>
        found && !isExpired(found, this.#options.ttlMs) ? [found.memory] : [],
      ),
      ...(numbers.length > size && { next: String(pageNumbers.at(-1)) }),
    };
  }

  async findMark({
    sessionId,
    ...owner
  }: MemoryOwner & { sessionId: string }): Promise<MemoryMark | undefined> {
    const mark = await readMark(this.#place(owner), sessionId);
    if (mark === '') return undefined;
    const { seq, eventId } = JSON.parse(mark) as MemoryMark;
    return { seq, eventId };
  }

  async deleteMemories({ sessionId, ...owner }: MemoryOwner & { sessionId?: string }): Promise<number> {
    const place = this.#place(owner);
    if (sessionId === undefined) return await dropAll(place);
    const numbers = await readSession(place, sessionId);
    return (await dropNumbers(place, [...numbers.values()], { field: markField(sessionId) })) ?? 0;
  }

  #place({ appName, userId }: MemoryOwner): MemoryPlace {
    const { connection, keys } = this.#options;
    return { connection, keys: keys.memory(appName, userId) };
  }
}

import type { Embedder } from '@agentmesh/agent';
import { memoryText } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import { type MemoryPlace, type MemoryText, readEntries } from './memory-entries.ts';
import type { Ranked } from './memory-fusion.ts';
import { adoptVectorsScript, putVectorsScript } from './memory-scripts.ts';

export interface MemoryVectorsOptions {
  embedder: Embedder;
  ttlMs?: number | undefined;
  /** Smallest cosine of a memory that counts as near, -1 to 1; default 0.5. */
  minSimilarity?: number | undefined;
  /**
   * Called when the embedder fails. Searches then go by words only, and memories without vectors get them
   * later.
   */
  onWarning?: ((error: unknown) => void) | undefined;
  /** Pause after a failure of the embedder, ms; default 10 s. */
  restMs?: number | undefined;
}

/** Number of memories that one request embeds. */
const batchSize = 100;
/** Number of newest memories that are compared with a query. */
const maxCompared = 10_000;
const readSize = 1_000;
/** Time limits for the vector of a query, and for each batch of an addition, ms. */
const queryMs = 3_000;
const batchMs = 10_000;

/**
 * Vectors of memories in Redis, a byte for each dimension. A search compares them one by one: some thousands
 * of a user need no index.
 */
export class MemoryVectors {
  readonly #options: MemoryVectorsOptions;
  #restsUntil = 0;

  constructor(options: MemoryVectorsOptions) {
    this.#options = options;
  }

  /** Notes all memories of the user as unembedded when their vectors came from another embedder. */
  async adopt({ connection, keys }: MemoryPlace): Promise<void> {
    const { name } = this.#options.embedder;
    const { meta, entries, vectors, unembedded } = keys;
    await connection.script(adoptVectorsScript, [meta, entries, vectors, unembedded], [name]);
  }

  /** Embeds all unembedded memories. If the embedder fails, the rest stays unembedded. */
  async embedAll(place: MemoryPlace): Promise<void> {
    await this.#orWarn(async () => {
      while ((await this.#embedSome(place)) === batchSize);
    });
  }

  /**
   * Returns the memories that are near the query in meaning, best first; an empty list when the embedder
   * fails.
   */
  async search(place: MemoryPlace, query: string, limit: number): Promise<Ranked[]> {
    if (query.trim() === '') return [];
    const found = await this.#orWarn(async () => {
      await this.adopt(place);
      const signal = AbortSignal.timeout(queryMs);
      const { embedder } = this.#options;
      const [[vector]] = await Promise.all([
        embedder.embed([query], 'query', signal),
        this.#orWarn(() => this.#embedSome(place, signal)),
      ]);
      return vector && (await this.#nearest(place, vector, limit));
    });
    return found ?? [];
  }

  async #nearest(place: MemoryPlace, query: Float32Array, limit: number): Promise<Ranked[]> {
    const { connection, keys } = place;
    const { minSimilarity = 0.5 } = this.#options;
    const numbers = await connection.run((redis) => redis.zrevrange(keys.order, 0, maxCompared - 1));
    const pages = Array.from({ length: Math.ceil(numbers.length / readSize) }, (_, at) =>
      numbers.slice(at * readSize, (at + 1) * readSize),
    );
    const near: Ranked[] = [];
    for (const page of pages) {
      const vectors = await connection.run((redis) => redis.hmgetBuffer(keys.vectors, ...page));
      for (const [at, bytes] of vectors.entries()) {
        const score = bytes?.length === query.length ? cosine(query, bytes) : -1;
        if (score >= minSimilarity) near.push({ number: Number(page[at]), score });
      }
    }
    return near.sort((a, b) => b.score - a.score || b.number - a.number).slice(0, limit);
  }

  /**
   * Embeds one batch. Two processes may embed the same batch: they write the same vectors. Returns the size
   * of the batch.
   */
  async #embedSome(place: MemoryPlace, signal: AbortSignal = AbortSignal.timeout(batchMs)): Promise<number> {
    const { connection, keys } = place;
    const { embedder, ttlMs } = this.#options;
    const numbers = await connection.run((redis) => redis.srandmember(keys.unembedded, batchSize));
    const waiting = numbers.map(Number);
    const entries = (await readEntries(place, waiting)).flatMap((found, at) =>
      found ? [{ ...found, number: waiting[at] ?? 0 }] : [],
    );
    const vectors = await this.#embed(entries, signal);
    if (entries.length > 0 && vectors.length === 0) {
      // This request throws if the model is at fault, and the memories stay unembedded; otherwise the texts
      // are.
      await embedder.embed(['a text'], 'document', signal);
    }
    const embedded = new Set(vectors.map(({ number }) => number));
    const without = waiting.filter((number) => !embedded.has(number));
    if (entries.length > vectors.length)
      this.#options.onWarning?.(new Error(`the model refuses ${entries.length - vectors.length} memories`));
    if (without.length > 0)
      await connection.run((redis) => redis.srem(keys.unembedded, ...without.map(String)));
    const args = vectors.flatMap(({ number, entry, vector }) => [
      String(number),
      entry,
      toBytes(vector).toString('hex'),
    ]);
    const { meta, entries: stored, vectors: kept, unembedded } = keys;
    const ttl = ttlMs === undefined ? '' : String(ttlMs);
    await connection.script(
      putVectorsScript,
      [meta, stored, kept, unembedded],
      [embedder.name, ttl, ...args],
    );
    return waiting.length;
  }

  /**
   * Embeds memories, except memories whose text the model refuses: a refused batch is halved until the
   * refused texts are alone.
   */
  async #embed(
    entries: readonly Waiting[],
    signal: AbortSignal,
  ): Promise<(Waiting & { vector: Float32Array })[]> {
    if (entries.length === 0) return [];
    try {
      const texts = entries.map(({ memory }) => memoryText(memory));
      const vectors = await this.#options.embedder.embed(texts, 'document', signal);
      return entries.flatMap((entry, at) => {
        const vector = vectors[at];
        return vector ? [{ ...entry, vector }] : [];
      });
    } catch (error) {
      if (MeshError.from(error).code !== 'invalid_argument') throw error;
      if (entries.length === 1) return [];
      const half = Math.ceil(entries.length / 2);
      const first = await this.#embed(entries.slice(0, half), signal);
      return [...first, ...(await this.#embed(entries.slice(half), signal))];
    }
  }

  async #orWarn<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#restsUntil) return undefined;
    try {
      return await work();
    } catch (error) {
      this.#restsUntil = performance.now() + (this.#options.restMs ?? 10_000);
      this.#options.onWarning?.(error);
      return undefined;
    }
  }
}

type Waiting = MemoryText & { number: number };

/**
 * Returns the numbers of a vector of length 1 as signed bytes, scaled so that the largest is 127; the length
 * does not matter to the cosine.
 */
function toBytes(vector: Float32Array): Buffer {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return Buffer.from(Int8Array.from(vector, (value) => Math.round((value / largest) * 127)).buffer);
}

function cosine(query: Float32Array, bytes: Buffer): number {
  const stored = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  let product = 0;
  let square = 0;
  for (let at = 0; at < stored.length; at += 1) {
    const value = stored[at] ?? 0;
    product += value * (query[at] ?? 0);
    square += value * value;
  }
  return square === 0 ? -1 : product / Math.sqrt(square);
}

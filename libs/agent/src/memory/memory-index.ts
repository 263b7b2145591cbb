import type { FoundMemory, MemoryPage, StoredMemory } from './memory-service.ts';
import { impactOf, rarityOf } from './ranking.ts';
import { memoryJson, memoryText } from './remembered.ts';
import { queryWords, textTerms } from './words.ts';

interface Entry {
  id: string;
  sessionId: string | undefined;
  /** Stored as text, so that callers cannot change it. */
  json: string;
  terms: string[];
}

/** An inverted index of one user's memories: the weight of each term in each memory. */
export class MemoryIndex {
  /** Entries by number, in the order of their addition. */
  readonly #entries = new Map<number, Entry>();
  readonly #numbers = new Map<string, number>();
  readonly #postings = new Map<string, Map<number, number>>();
  #last = 0;

  has(sessionId: string | undefined, id: string): boolean {
    return this.#numbers.has(nameOf({ sessionId, id }));
  }

  /** Adds a memory; an existing memory stays unchanged. */
  add(memory: StoredMemory): void {
    if (this.has(memory.sessionId, memory.id)) return;
    const { counts, length } = textTerms(memoryText(memory));
    const { id, sessionId } = memory;
    const entry = { id, sessionId, json: memoryJson(memory), terms: [...counts.keys()] };
    this.#last += 1;
    this.#entries.set(this.#last, entry);
    this.#numbers.set(nameOf(entry), this.#last);
    for (const [term, count] of counts) {
      const posting = this.#postings.get(term) ?? new Map<number, number>();
      this.#postings.set(term, posting.set(this.#last, impactOf(count, length)));
    }
  }

  /** Removes the matching memories and returns their number. */
  drop(matches: (entry: Pick<Entry, 'id' | 'sessionId'>) => boolean): number {
    let dropped = 0;
    for (const [number, entry] of this.#entries) {
      if (!matches(entry)) continue;
      this.#entries.delete(number);
      this.#numbers.delete(nameOf(entry));
      for (const term of entry.terms) this.#removePosting(term, number);
      dropped += 1;
    }
    return dropped;
  }

  search(query: string, limit: number): FoundMemory[] {
    const scores = new Map<number, number>();
    for (const terms of queryWords(query)) {
      for (const [number, score] of this.#entriesWith(terms))
        scores.set(number, (scores.get(number) ?? 0) + score);
    }
    const best = [...scores].sort(([a, x], [b, y]) => y - x || b - a).slice(0, limit);
    return best.map(([number, score]) => ({ ...this.#read(number), score }));
  }

  page(after: number, limit: number): MemoryPage {
    const numbers = [...this.#entries.keys()].filter((number) => number > after);
    const page = numbers.slice(0, limit);
    return {
      memories: page.map((number) => this.#read(number)),
      ...(numbers.length > limit && { next: String(page.at(-1)) }),
    };
  }

  /** Yields the memories that have all terms of a word. The word counts as one term. */
  *#entriesWith(terms: string[]): Generator<[number, number]> {
    const postings = terms.map((term) => this.#postings.get(term) ?? new Map<number, number>());
    const weights = postings.map(({ size }) => rarityOf(this.#entries.size, size) / terms.length);
    const [rarest] = postings.toSorted((a, b) => a.size - b.size);
    for (const number of rarest?.keys() ?? []) {
      const impacts = postings.map((posting) => posting.get(number));
      if (impacts.includes(undefined)) continue;
      yield [number, impacts.reduce<number>((sum, impact = 0, at) => sum + impact * (weights[at] ?? 0), 0)];
    }
  }

  #removePosting(term: string, number: number): void {
    const posting = this.#postings.get(term);
    posting?.delete(number);
    if (posting?.size === 0) this.#postings.delete(term);
  }

  #read(number: number): StoredMemory {
    return JSON.parse(this.#entries.get(number)?.json ?? 'null');
  }
}

function nameOf({ id, sessionId }: { id: string; sessionId?: string | undefined }): string {
  return JSON.stringify([sessionId ?? null, id]);
}

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { MemoryMark, Session, StoredMemory } from '@agentmesh/agent';
import { changeOf, isOlder, rememberedEvent, type SessionChange } from '@agentmesh/agent/internal';
import { encodeToken, MeshError, meshTime, shortId } from '@agentmesh/protocol';
import { type AddBatch, addCall, batches, prepareMemory } from './memory-batch.ts';
import {
  dropNumbers,
  isExpired,
  type MemoryPlace,
  readEntries,
  readOrder,
  readSession,
} from './memory-entries.ts';
import { addMemoriesScript } from './memory-scripts.ts';
import type { MemoryVectors } from './memory-vectors.ts';

/** Number of tries of an addition while other processes add the same session. */
const maxAttempts = 30;
/** Number of expired memories that one addition removes. */
const sweepSize = 100;

/** Adds memories, of sessions and without a session, in batches that are each one atomic step. */
export class MemoryAdder {
  readonly #options: { ttlMs?: number | undefined; vectors?: MemoryVectors | undefined };

  constructor(options: { ttlMs?: number | undefined; vectors?: MemoryVectors | undefined }) {
    this.#options = options;
  }

  /**
   * Adds a session. @throws MeshError `aborted` when other processes keep adding different contents of the
   * same session
   */
  async addSession(place: MemoryPlace, session: Session): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      if (await this.#tryAddSession(place, session)) return;
      // Another process adds the same session; the random pause lets one of them finish.
      await pause(Math.random() * 10 * attempt);
    }
    throw new MeshError('aborted', `others keep adding session ${session.id} to memory; add it again`);
  }

  /** Adds a session, or returns false when another process is adding it. */
  async #tryAddSession(place: MemoryPlace, session: Session): Promise<boolean> {
    const { id: sessionId } = session;
    const field = markField(sessionId);
    const from = await readMark(place, sessionId);
    const mark: MemoryMark | undefined = from === '' ? undefined : JSON.parse(from);
    const change = changeOf(session, mark);
    if (change.follows) return await this.#addChange(place, sessionId, change, { field, from });
    const numbers = await readSession(place, sessionId);
    if (isOlder(change, mark, (id) => numbers.has(shortId(id)))) return true;
    const wantedIds = new Set(change.events.map(({ event }) => shortId(event.id)));
    const rewound = new Set(change.rewound.map(shortId));
    const isStale = (id: string) => (change.replaces ? !wantedIds.has(id) : rewound.has(id));
    const stale = [...numbers].flatMap(([id, number]) => (isStale(id) ? [number] : []));
    const drops = stale.length > 0 || (change.replaces && from !== '');
    // The mark is removed first: if this process dies, the next process reads the whole session again.
    if (drops && (await dropNumbers(place, stale, { field, from })) === undefined) return false;
    const events = change.events.filter(({ event }) => !numbers.has(shortId(event.id)));
    return await this.#addChange(place, sessionId, { ...change, events }, { field, from: drops ? '' : from });
  }

  /**
   * Adds memories in order, and moves the mark with each batch. If the process dies, the next process
   * continues after the last batch.
   */
  async #addChange(
    place: MemoryPlace,
    sessionId: string,
    { events, mark }: SessionChange,
    { field, from }: { field: string; from: string },
  ): Promise<boolean> {
    const seqs = new Map(events.map(({ seq, event }) => [event.id, seq]));
    const memories = events.flatMap(({ event }) => rememberedEvent(event, { sessionId }) ?? []);
    if (!mark) return await this.add(place, memories);
    // Each addition has its own marks: a mark that was removed and set again is a different mark.
    const by = shortId(randomUUID());
    const end = JSON.stringify({ ...mark, by });
    if (memories.length === 0)
      return (
        isAt(from, mark) || (await this.#addBatch(place, { memories: [], mark: { field, from, to: end } }))
      );
    let before = from;
    return await this.add(place, memories, (last, isEnd) => {
      const reached = JSON.stringify({ seq: seqs.get(last.id) ?? 0, eventId: last.id, by });
      const step = { field, from: before, to: isEnd ? end : reached };
      before = step.to;
      return step;
    });
  }

  /**
   * Adds memories. Returns false when a batch was refused because of its mark; the batches before it are
   * added.
   */
  async add(
    place: MemoryPlace,
    memories: readonly StoredMemory[],
    markAfter?: (last: StoredMemory, isEnd: boolean) => AddBatch['mark'],
  ): Promise<boolean> {
    if (memories.length === 0) return true;
    const { vectors } = this.#options;
    const now = meshTime();
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

  /** Removes the oldest expired memories. The memories of a user who adds no more expire with their keys. */
  async #sweep(place: MemoryPlace): Promise<void> {
    const { ttlMs } = this.#options;
    if (ttlMs === undefined) return;
    const oldest = await readOrder(place, 0, sweepSize);
    const entries = await readEntries(place, oldest);
    const expired = oldest.filter((_, at) => entries[at] && isExpired(entries[at], ttlMs));
    if (expired.length > 0) await dropNumbers(place, expired);
  }
}

function isAt(from: string, { seq, eventId }: MemoryMark): boolean {
  const mark: Partial<MemoryMark> = from === '' ? {} : JSON.parse(from);
  return mark.seq === seq && mark.eventId === eventId;
}

/** Returns the field of the mark that says how much of a session is in memory. */
export function markField(sessionId: string): string {
  return `mark:${encodeToken(sessionId)}`;
}

/** Reads a mark as it is stored; '' when there is no mark. */
export async function readMark({ connection, keys }: MemoryPlace, sessionId: string): Promise<string> {
  return (await connection.run((redis) => redis.hget(keys.meta, markField(sessionId)))) ?? '';
}

import { type Event, MeshError, toJson } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { stringifyContent } from '../events/event.ts';
import { defaultSearchLimit, type MemoryEntry, maxSearchLimit, type StoredMemory } from './memory-service.ts';

/** What is kept of an event: what was said to the reader. Undefined when that is nothing. */
export function rememberedEvent(
  event: Event,
  { sessionId, customMetadata }: { sessionId?: string; customMetadata?: Record<string, unknown> },
): StoredMemory | undefined {
  if (event.partial || !event.content || stringifyContent(event).trim() === '') return undefined;
  const { id, author, timestamp } = event;
  return {
    id,
    ...(sessionId !== undefined && { sessionId }),
    content: wordsOnly(event.content),
    ...(author !== undefined && { author }),
    timestamp: new Date(timestamp).toISOString(),
    ...(customMetadata && { customMetadata }),
  };
}

/** What is kept of a memory that somebody made. @throws MeshError `invalid_argument` when it has no words */
export function rememberedEntry(entry: MemoryEntry & { id: string }): StoredMemory {
  const memory = { ...entry, content: wordsOnly(entry.content) };
  if (memoryText(memory).trim() === '')
    throw new MeshError('invalid_argument', 'a memory needs a text; give its content a part with one');
  return memory;
}

/** The words of a memory. */
export function memoryText({ content }: Pick<MemoryEntry, 'content'>): string {
  return (content.parts ?? []).map(({ text }) => text ?? '').join('\n');
}

/** The JSON of a memory. @throws MeshError `invalid_argument` for what JSON cannot hold */
export function memoryJson(memory: StoredMemory): string {
  return toJson(memory, 'the memory');
}

/** @throws MeshError `invalid_argument` for a limit that is none */
export function searchLimit(limit: number = defaultSearchLimit): number {
  if (Number.isSafeInteger(limit) && limit > 0) return Math.min(limit, maxSearchLimit);
  throw new MeshError('invalid_argument', 'limit must be a whole number above 0');
}

/** @throws MeshError `invalid_argument` for a limit that is none */
export function pageLimit(limit = 100): number {
  if (Number.isSafeInteger(limit) && limit > 0) return Math.min(limit, 1_000);
  throw new MeshError('invalid_argument', 'limit must be a whole number above 0');
}

function wordsOnly({ role, parts }: Content): Content {
  return {
    ...(role !== undefined && { role }),
    parts: (parts ?? []).flatMap(({ text, thought }) => (text && !thought ? [{ text }] : [])),
  };
}

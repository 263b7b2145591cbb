import { type Event, MeshError, toJson } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { stringifyContent } from '../events/event.ts';
import { defaultSearchLimit, type MemoryEntry, maxSearchLimit, type StoredMemory } from './memory-service.ts';

/**
 * Makes the memory of an event: the event's text for the reader. Returns undefined for an event without text.
 */
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

/**
 * Checks a memory that user code adds.
 *
 * @throws MeshError `invalid_argument` when it has no text
 */
export function rememberedEntry(entry: MemoryEntry & { id: string }): StoredMemory {
  const memory = { ...entry, content: wordsOnly(entry.content) };
  if (memoryText(memory).trim() === '')
    throw new MeshError('invalid_argument', 'a memory needs a text; give its content a part with one');
  return memory;
}

/** Returns the text of a memory. */
export function memoryText({ content }: Pick<MemoryEntry, 'content'>): string {
  return (content.parts ?? []).map(({ text }) => text ?? '').join('\n');
}

/**
 * Serializes a memory.
 *
 * @throws MeshError `invalid_argument` for values that JSON cannot hold
 */
export function memoryJson(memory: StoredMemory): string {
  return toJson(memory, 'the memory');
}

/**
 * Checks a search limit.
 *
 * @throws MeshError `invalid_argument` for an invalid value
 */
export function searchLimit(limit: number = defaultSearchLimit): number {
  if (Number.isSafeInteger(limit) && limit > 0) return Math.min(limit, maxSearchLimit);
  throw new MeshError('invalid_argument', 'limit must be a whole number above 0');
}

/**
 * Checks a page size.
 *
 * @throws MeshError `invalid_argument` for an invalid value
 */
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

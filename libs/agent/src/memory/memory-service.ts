import type { Event } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { Session } from '../sessions/session.ts';

/** Whose memories. */
export interface MemoryOwner {
  appName: string;
  userId: string;
}

/** Something that is remembered: the words of an event, or what somebody said is worth it. */
export interface MemoryEntry {
  content: Content;
  author?: string;
  /** ISO 8601. */
  timestamp?: string;
  customMetadata?: Record<string, unknown>;
}

export interface StoredMemory extends MemoryEntry {
  /** Of an event, the event's. */
  id: string;
  /** Absent for what belongs to no session. */
  sessionId?: string;
}

export interface FoundMemory extends StoredMemory {
  /** Higher is better. Compare it only with others of the same answer. */
  score: number;
}

export interface AddMemoryRequest extends MemoryOwner {
  /** An id that is there already is not added again; default: a new one (UUID). */
  memories: (MemoryEntry & { id?: string })[];
}

export interface AddEventsRequest extends MemoryOwner {
  sessionId?: string;
  events: readonly Event[];
  customMetadata?: Record<string, unknown>;
}

export interface SearchMemoryRequest extends MemoryOwner {
  query: string;
  /** Of the best; default {@link defaultSearchLimit}, at most {@link maxSearchLimit}. */
  limit?: number;
}

export interface ListMemoriesRequest extends MemoryOwner {
  /** `next` of the page before; absent for the first page. */
  after?: string;
  /** Page size; default 100, at most 1,000. */
  limit?: number;
}

export interface MemoryPage {
  memories: StoredMemory[];
  /** Absent on the last page. */
  next?: string;
}

/** How far a session is in memory: its last event that was looked at. */
export interface MemoryMark {
  seq: number;
  eventId: string;
}

export const defaultSearchLimit = 10;
export const maxSearchLimit = 100;

/** The least that a memory service has: ADK's. */
export interface BaseMemoryService {
  addSessionToMemory(session: Session): Promise<void>;
  searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;
  addEventsToMemory?(request: AddEventsRequest): Promise<void>;
  addMemory?(request: AddMemoryRequest): Promise<void>;
}

export interface SearchMemoryResponse {
  /** Best first. A service of ours tells of each also its `id`, `sessionId` and `score`. */
  memories: (MemoryEntry & Partial<Pick<FoundMemory, 'id' | 'sessionId' | 'score'>>)[];
}

/**
 * What a user said, to be found again in other sessions: only words are kept, neither thoughts of a model nor files nor calls. One contract, one
 * conformance suite (`@agentmesh/agent/conformance`), an implementation in memory here and one on Redis in `@agentmesh/store`.
 *
 * Every memory is there as a whole or not at all; of several that are added at once, a process that dies may have added some, and doing it again
 * adds the others.
 *
 * All methods throw MeshError `invalid_argument` for names that cannot be keys, and for what JSON cannot hold.
 */
export interface MemoryService extends BaseMemoryService {
  /**
   * Remembers what was said in a session. Added again it replaces what the session had; of a session that has grown only what is new is looked at. A
   * session of which only the last events were read removes nothing.
   */
  addSessionToMemory(session: Session): Promise<void>;
  /** Remembers events, by their ids: one that is there already stays as it is. A session that is added later replaces those of its `sessionId`. */
  addEventsToMemory(request: AddEventsRequest): Promise<void>;
  /** Remembers what belongs to no session. */
  addMemory(request: AddMemoryRequest): Promise<void>;
  /**
   * The memories that have words of the query, best first: BM25 with a constant length, see `ranking.ts`; of equals the last added first. An
   * implementation may find memories by their meaning too.
   */
  searchMemory(request: SearchMemoryRequest): Promise<{ memories: FoundMemory[] }>;
  /** All memories in the order in which they were added. What is added or removed meanwhile may be missed; nothing else is, nothing comes twice. */
  listMemories(request: ListMemoriesRequest): Promise<MemoryPage>;
  /** How far a session is in memory, for who can read just what comes after; undefined when that is not known. */
  findMark(request: MemoryOwner & { sessionId: string }): Promise<MemoryMark | undefined>;
  /** Forgets those of a session, or all of the user. Returns how many there were. */
  deleteMemories(request: MemoryOwner & { sessionId?: string }): Promise<number>;
}

import type { Event } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { Session } from '../sessions/session.ts';

/** The owner of memories. */
export interface MemoryOwner {
  appName: string;
  userId: string;
}

/** A memory: the text of an event, or a text that user code adds. */
export interface MemoryEntry {
  content: Content;
  author?: string;
  /** In ISO 8601. */
  timestamp?: string;
  customMetadata?: Record<string, unknown>;
}

export interface StoredMemory extends MemoryEntry {
  /** Of an event: the event's id. */
  id: string;
  /** Absent for a memory that belongs to no session. */
  sessionId?: string;
}

export interface FoundMemory extends StoredMemory {
  /** Quality of the match; higher is better. Scores are comparable only within one result. */
  score: number;
}

export interface AddMemoryRequest extends MemoryOwner {
  /** The memories. One with an existing id is not added again; default id: a new UUID. */
  memories: (MemoryEntry & { id?: string })[];
}

export interface AddEventsRequest extends MemoryOwner {
  sessionId?: string;
  events: readonly Event[];
  customMetadata?: Record<string, unknown>;
}

export interface SearchMemoryRequest extends MemoryOwner {
  query: string;
  /** Maximum number of results; default {@link defaultSearchLimit}, at most {@link maxSearchLimit}. */
  limit?: number;
}

export interface ListMemoriesRequest extends MemoryOwner {
  /** `next` of the previous page; absent for the first page. */
  after?: string;
  /** Page size; default 100, at most 1,000. */
  limit?: number;
}

export interface MemoryPage {
  memories: StoredMemory[];
  /** Absent on the last page. */
  next?: string;
}

/** The position up to which a session is in memory: its last processed event. */
export interface MemoryMark {
  seq: number;
  eventId: string;
}

export const defaultSearchLimit = 10;
export const maxSearchLimit = 100;

/** The minimum interface of a memory service: ADK's. */
export interface BaseMemoryService {
  addSessionToMemory(session: Session): Promise<void>;
  searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;
  addEventsToMemory?(request: AddEventsRequest): Promise<void>;
  addMemory?(request: AddMemoryRequest): Promise<void>;
}

export interface SearchMemoryResponse {
  /** Best matches first. Our services also return `id`, `sessionId` and `score`. */
  memories: (MemoryEntry & Partial<Pick<FoundMemory, 'id' | 'sessionId' | 'score'>>)[];
}

/**
 * A store of what a user said, to find it in other sessions. Only text is stored, without thoughts of a
 * model, files or calls. One contract and one conformance suite (`@agentmesh/agent/conformance`) have two
 * implementations: in memory here, on Redis in `@agentmesh/store`.
 *
 * A memory is stored completely or not at all. When a process dies while it adds several memories, some may
 * be stored; adding all of them again adds the missing memories.
 *
 * All methods throw MeshError `invalid_argument` for names that cannot be keys, and for values that JSON
 * cannot hold.
 */
export interface MemoryService extends BaseMemoryService {
  /**
   * Adds the text of a session. It replaces earlier memories of the session; of a session that has grown only
   * the new events are processed. A session of which only the last events were read removes nothing.
   */
  addSessionToMemory(session: Session): Promise<void>;
  /**
   * Adds events by their ids; an event that is in memory already stays unchanged. A session that is added
   * later replaces the memories with its `sessionId`.
   */
  addEventsToMemory(request: AddEventsRequest): Promise<void>;
  /** Adds memories that belong to no session. */
  addMemory(request: AddMemoryRequest): Promise<void>;
  /**
   * Searches memories by the words of the query, best matches first: BM25 with a constant length, see
   * `ranking.ts`; of equal scores the last added first. An implementation may search by meaning too.
   */
  searchMemory(request: SearchMemoryRequest): Promise<{ memories: FoundMemory[] }>;
  /**
   * Lists all memories in the order of their addition. A concurrent addition or removal may be missed; no
   * other memory is missed, and no memory is listed twice.
   */
  listMemories(request: ListMemoriesRequest): Promise<MemoryPage>;
  /**
   * Returns the position up to which a session is in memory, so that a caller can read only the later events;
   * undefined when it is unknown.
   */
  findMark(request: MemoryOwner & { sessionId: string }): Promise<MemoryMark | undefined>;
  /** Deletes the memories of a session, or all of the user. Returns their number. */
  deleteMemories(request: MemoryOwner & { sessionId?: string }): Promise<number>;
}

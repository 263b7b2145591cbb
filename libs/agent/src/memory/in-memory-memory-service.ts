import { randomUUID } from 'node:crypto';
import { assertOptions, type Event } from '@agentmesh/protocol';
import type { Session } from '../sessions/session.ts';
import { MemoryIndex } from './memory-index.ts';
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
} from './memory-service.ts';
import { pageLimit, rememberedEntry, rememberedEvent, searchLimit } from './remembered.ts';
import { changeOf, isOlder } from './session-view.ts';

interface OwnedMemories {
  index: MemoryIndex;
  marks: Map<string, MemoryMark>;
}

/** A memory service in this process' memory. It searches by words, in any language. */
export class InMemoryMemoryService implements MemoryService {
  readonly #owners = new Map<string, OwnedMemories>();

  /** @throws MeshError `invalid_argument` for any option, as there are none */
  constructor(options: Record<string, never> = {}) {
    assertOptions('an InMemoryMemoryService', options, {}, { isOpen: new.target !== InMemoryMemoryService });
  }

  async addSessionToMemory(session: Session): Promise<void> {
    const { index, marks } = this.#of(session);
    const mark = marks.get(session.id);
    const change = changeOf(session, mark);
    if (isOlder(change, mark, (id) => index.has(session.id, id))) return;
    if (change.replaces) {
      const keptIds = new Set(change.events.map(({ event }) => event.id));
      index.drop(({ sessionId, id }) => sessionId === session.id && !keptIds.has(id));
    }
    const rewound = new Set(change.rewound);
    const dropped = index.drop(({ sessionId, id }) => sessionId === session.id && rewound.has(id));
    for (const { event } of change.events) remember(index, event, { sessionId: session.id });
    if (change.mark) marks.set(session.id, change.mark);
    else if (change.replaces || dropped > 0) marks.delete(session.id);
  }

  async addEventsToMemory({ events, appName, userId, ...about }: AddEventsRequest): Promise<void> {
    const { index } = this.#of({ appName, userId });
    for (const event of events) remember(index, event, about);
  }

  async addMemory({ memories, ...owner }: AddMemoryRequest): Promise<void> {
    const { index } = this.#of(owner);
    const entries = memories.map((entry) => rememberedEntry({ ...entry, id: entry.id ?? randomUUID() }));
    for (const entry of entries) index.add(entry);
  }

  async searchMemory({ query, limit, ...owner }: SearchMemoryRequest): Promise<{ memories: FoundMemory[] }> {
    return { memories: this.#of(owner).index.search(query, searchLimit(limit)) };
  }

  async listMemories({ after, limit, ...owner }: ListMemoriesRequest): Promise<MemoryPage> {
    return this.#of(owner).index.page(Number(after ?? 0), pageLimit(limit));
  }

  async findMark({
    sessionId,
    ...owner
  }: MemoryOwner & { sessionId: string }): Promise<MemoryMark | undefined> {
    return this.#of(owner).marks.get(sessionId);
  }

  async deleteMemories({ sessionId, ...owner }: MemoryOwner & { sessionId?: string }): Promise<number> {
    const { index, marks } = this.#of(owner);
    if (sessionId === undefined) marks.clear();
    else marks.delete(sessionId);
    return index.drop((memory) => sessionId === undefined || memory.sessionId === sessionId);
  }

  #of({ appName, userId }: MemoryOwner): OwnedMemories {
    const key = JSON.stringify([appName, userId]);
    const owned = this.#owners.get(key) ?? { index: new MemoryIndex(), marks: new Map() };
    this.#owners.set(key, owned);
    return owned;
  }
}

function remember(index: MemoryIndex, event: Event, about: Parameters<typeof rememberedEvent>[1]): void {
  const memory = rememberedEvent(event, about);
  if (memory) index.add(memory);
}

import { createEvent } from '../event.ts';
import type { MemoryService } from '../memory/memory-service.ts';
import type { Session } from '../session-service.ts';
import { memoryAdding } from './memory-adding.ts';
import { memoryKeeping } from './memory-keeping.ts';
import { memoryRewinding } from './memory-rewinding.ts';
import { memorySearching } from './memory-searching.ts';

export type MakeMemoryService = () => Promise<{ service: MemoryService; dispose(): Promise<void> }>;

/** What the parts of the suite stand on. */
export interface MemoryKit {
  withService(run: (service: MemoryService) => Promise<void>): () => Promise<void>;
  /** The texts that are found, best first. */
  find(
    service: MemoryService,
    query: string,
    request?: { userId?: string; limit?: number },
  ): Promise<string[]>;
  /** All texts of the user, in the order in which they were added. */
  all(service: MemoryService, userId?: string): Promise<string[]>;
}

export const owner = { appName: 'app', userId: 'u' };

export function eventOf(text: string, id?: string) {
  const content = { role: 'user', parts: [{ text }] };
  return createEvent({ author: 'user', timestamp: 0, content, ...(id !== undefined && { id }) });
}

/** A session in which the user said these texts. Events that are given as such keep their ids. */
export function sessionOf(id: string, ...said: (string | Session['events'][number])[]): Session {
  const events = said.map((each) => (typeof each === 'string' ? eventOf(each) : each));
  return { id, ...owner, state: {}, seq: events.length, lastUpdateTime: 0, events };
}

/** What every memory service must do. */
export function memoryServiceConformance(name: string, make: MakeMemoryService): void {
  const textOf = (parts: { text?: string }[] = []) => parts.map(({ text }) => text).join('');
  const kit: MemoryKit = {
    withService: (run) => async () => {
      const { service, dispose } = await make();
      try {
        await run(service);
      } finally {
        await dispose();
      }
    },
    async find(service, query, request = {}) {
      const { memories } = await service.searchMemory({ ...owner, query, ...request });
      return memories.map(({ content }) => textOf(content.parts));
    },
    async all(service, userId = owner.userId) {
      const texts: string[] = [];
      for (let after: string | undefined, more = true; more; more = after !== undefined) {
        const page = await service.listMemories({ ...owner, userId, ...(after !== undefined && { after }) });
        texts.push(...page.memories.map(({ content }) => textOf(content.parts)));
        after = page.next;
      }
      return texts;
    },
  };
  memorySearching(name, kit);
  memoryAdding(name, kit);
  memoryRewinding(name, kit);
  memoryKeeping(name, kit);
}

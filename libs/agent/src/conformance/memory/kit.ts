import { createEvent } from '../../events/event.ts';
import type { MemoryService } from '../../memory/memory-service.ts';
import type { Session } from '../../sessions/session.ts';

/** Functions that all parts of the suite use. */
export interface MemoryKit {
  withService(run: (service: MemoryService) => Promise<void>): () => Promise<void>;
  /** Returns the texts of the found memories, best matches first. */
  find(
    service: MemoryService,
    query: string,
    request?: { userId?: string; limit?: number },
  ): Promise<string[]>;
  /** Returns all texts of the user, in the order of their addition. */
  all(service: MemoryService, userId?: string): Promise<string[]>;
}

export const owner = { appName: 'app', userId: 'u' };

export function eventOf(text: string, id?: string) {
  const content = { role: 'user', parts: [{ text }] };
  return createEvent({ author: 'user', timestamp: 0, content, ...(id !== undefined && { id }) });
}

/** Makes a session in which the user said these texts. Events among them keep their ids. */
export function sessionOf(id: string, ...said: (string | Session['events'][number])[]): Session {
  const events = said.map((each) => (typeof each === 'string' ? eventOf(each) : each));
  return { id, ...owner, state: {}, seq: events.length, lastUpdateTime: 0, events };
}

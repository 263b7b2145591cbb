import { createEvent } from '../../events/event.ts';
import type { MemoryService } from '../../memory/memory-service.ts';
import type { Session } from '../../sessions/session.ts';

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

import type { Content } from '@google/genai';
import type { Session } from '../session-service.ts';

/** What a user said in other sessions, to be found again. */
export interface MemoryService {
  addSessionToMemory(session: Session): Promise<void>;
  searchMemory(r: {
    appName: string;
    userId: string;
    query: string;
  }): Promise<{ memories: { content: Content; author?: string; timestamp?: string }[] }>;
}

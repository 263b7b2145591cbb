import type { Content } from '@google/genai';
import { stringifyContent } from '../event.ts';
import type { Session } from '../session-service.ts';
import type { MemoryService } from './memory-service.ts';

interface Memory {
  content: Content;
  author?: string;
  /** ISO 8601. */
  timestamp: string;
  words: ReadonlySet<string>;
}

const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** What was said, found again by its words, in any language; gone with the process. */
export class InMemoryMemoryService implements MemoryService {
  /** By owner, then session: a session that is added again replaces what it held. */
  readonly #memories = new Map<string, Map<string, Memory[]>>();

  async addSessionToMemory(session: Session): Promise<void> {
    const owner = ownerOf(session);
    const sessions = this.#memories.get(owner) ?? new Map<string, Memory[]>();
    this.#memories.set(owner, sessions);
    sessions.set(session.id, session.events.flatMap(remember));
  }

  async searchMemory(
    request: Parameters<MemoryService['searchMemory']>[0],
  ): ReturnType<MemoryService['searchMemory']> {
    const query = wordsOf(request.query);
    const all = [...(this.#memories.get(ownerOf(request))?.values() ?? [])].flat();
    const found = all
      .map((memory) => ({ memory, hits: query.intersection(memory.words).size }))
      .filter(({ hits }) => hits > 0)
      .sort((a, b) => b.hits - a.hits);
    return {
      memories: found.map(({ memory: { content, author, timestamp } }) =>
        structuredClone({ content, timestamp, ...(author !== undefined && { author }) }),
      ),
    };
  }
}

function remember(event: Session['events'][number]): Memory[] {
  const text = stringifyContent(event);
  if (!event.content || text.trim() === '') return [];
  const { content, author, timestamp } = event;
  return [
    {
      content,
      timestamp: new Date(timestamp).toISOString(),
      words: wordsOf(text),
      ...(author !== undefined && { author }),
    },
  ];
}

function ownerOf({ appName, userId }: { appName: string; userId: string }): string {
  return JSON.stringify([appName, userId]);
}

/** Words as people of any language see them, in one case and one form of writing. */
function wordsOf(text: string): Set<string> {
  const normal = text.normalize('NFKC').toLocaleLowerCase('und');
  return new Set(
    [...words.segment(normal)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment),
  );
}

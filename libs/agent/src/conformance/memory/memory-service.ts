import type { MemoryService } from '../../memory/memory-service.ts';
import { type MemoryKit, owner } from './kit.ts';
import { memoryAdding } from './memory-adding.ts';
import { memoryKeeping } from './memory-keeping.ts';
import { memoryRewinding } from './memory-rewinding.ts';
import { memorySearching } from './memory-searching.ts';

export type MakeMemoryService = () => Promise<{ service: MemoryService; dispose(): Promise<void> }>;

/** Tests that every memory service must pass. */
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

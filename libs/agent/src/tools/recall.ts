import type { Context } from '../base/context.ts';
import type { MemoryEntry, SearchMemoryResponse } from '../memory/memory-service.ts';

/** How long a model is kept waiting for what was said before, in ms. */
const patienceMs = 5_000;

/** What is found for a query; undefined when the memory fails or does not answer in time: a turn does not fail for that. */
export async function recallMemories(
  context: Context,
  query: string,
  tool: string,
): Promise<SearchMemoryResponse['memories'] | undefined> {
  try {
    const late = AbortSignal.timeout(patienceMs);
    const { promise, reject } = Promise.withResolvers<never>();
    late.addEventListener('abort', () => reject(late.reason), { once: true });
    return (await Promise.race([context.searchMemory(query), promise])).memories;
  } catch (error) {
    context.abortSignal?.throwIfAborted();
    process.emitWarning(
      `${tool}: the memory does not answer: ${error instanceof Error ? error.message : error}`,
      {
        code: 'AGENTMESH_MEMORY',
      },
    );
    return undefined;
  }
}

/** A memory as a model sees it: who said what, and when. */
export function shownMemory({ author, timestamp, content }: MemoryEntry) {
  return {
    content: (content.parts ?? []).map(({ text }) => text ?? '').join(' '),
    ...(author !== undefined && { author }),
    ...(timestamp !== undefined && { timestamp }),
  };
}

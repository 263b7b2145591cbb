import type { Context } from '../base/context.ts';
import type { MemoryEntry, SearchMemoryResponse } from '../memory/memory-service.ts';

/** Time limit for a memory search before a model call, in ms. */
const patienceMs = 5_000;

/**
 * Searches the memory. Returns undefined when it fails or does not answer in time, because a turn must not
 * fail for that.
 */
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

/** Makes the view of a memory for a model: author, time and text. */
export function shownMemory({ author, timestamp, content }: MemoryEntry) {
  return {
    content: (content.parts ?? []).map(({ text }) => text ?? '').join(' '),
    ...(author !== undefined && { author }),
    ...(timestamp !== undefined && { timestamp }),
  };
}

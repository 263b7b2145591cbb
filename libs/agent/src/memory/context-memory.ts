import { type Event, MeshError } from '@agentmesh/protocol';
import type { Context } from '../context.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { type Session, unreadBefore } from '../session-service.ts';
import type {
  AddEventsRequest,
  AddMemoryRequest,
  BaseMemoryService,
  MemoryService,
  SearchMemoryResponse,
} from './memory-service.ts';

/** The memory of the user that a context serves. @throws MeshError `failed_precondition` where there is no memory service */
export function memoryOf({ services, appName, userId, sessionId, invocationContext }: Context) {
  const { memoryService } = services;
  if (!memoryService)
    throw new MeshError('failed_precondition', 'there is no memoryService; give the runner one');
  const owner = { appName, userId };
  return {
    async search(query: string, limit?: number): Promise<SearchMemoryResponse> {
      return await memoryService.searchMemory({ ...owner, query, ...(limit !== undefined && { limit }) });
    },
    async addSession(): Promise<void> {
      if (!invocationContext)
        throw new MeshError(
          'failed_precondition',
          'a tool in a process of its own does not have the session; add it where its agent runs, or add events or memories here',
        );
      await memoryService.addSessionToMemory(await sinceMemory(memoryService, invocationContext));
    },
    async addEvents(
      events: AddEventsRequest['events'],
      customMetadata?: Record<string, unknown>,
    ): Promise<void> {
      if (!memoryService.addEventsToMemory) throw cannot('addEventsToMemory');
      await memoryService.addEventsToMemory({
        ...owner,
        sessionId,
        events,
        ...(customMetadata && { customMetadata }),
      });
    },
    async add(memories: AddMemoryRequest['memories']): Promise<void> {
      if (!memoryService.addMemory) throw cannot('addMemory');
      await memoryService.addMemory({ ...owner, memories });
    },
  };
}

/** The session with all that memory may not have yet: a turn of a long one is not read from its start. */
async function sinceMemory(
  memory: BaseMemoryService & Partial<Pick<MemoryService, 'findMark'>>,
  { session, sessionService }: InvocationContext,
): Promise<Session> {
  const unread = unreadBefore(session);
  if (unread === 0) return session;
  const { appName, userId, id: sessionId } = session;
  const ref = { appName, userId, sessionId };
  const from = (await memory.findMark?.(ref))?.seq ?? 1;
  const older: Event[] = [];
  for (let afterSeq = from - 1; afterSeq < unread; afterSeq += pageSize) {
    const limit = Math.min(pageSize, unread - afterSeq);
    const page = await sessionService.readEvents({ ...ref, afterSeq, limit });
    older.push(...page.map(({ event }) => event));
  }
  return { ...session, events: [...older, ...session.events] };
}

const pageSize = 1_000;

function cannot(method: string): MeshError {
  return new MeshError('failed_precondition', `the memoryService of the runner has no ${method}`);
}

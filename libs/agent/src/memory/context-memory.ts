import { MeshError } from '@agentmesh/protocol';
import type { Context } from '../context.ts';
import type { AddEventsRequest, AddMemoryRequest, SearchMemoryResponse } from './memory-service.ts';

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
      await memoryService.addSessionToMemory(invocationContext.session);
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

function cannot(method: string): MeshError {
  return new MeshError('failed_precondition', `the memoryService of the runner has no ${method}`);
}

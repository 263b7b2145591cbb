import { type Event, MeshError, type SessionRef } from '@agentmesh/protocol';
import type {
  AddEventsRequest,
  AddMemoryRequest,
  BaseMemoryService,
  MemoryService,
  SearchMemoryResponse,
} from '../memory/memory-service.ts';
import { isRewind } from '../memory/session-view.ts';
import { type Session, unreadBefore } from '../sessions/session.ts';
import type { Context } from './context.ts';
import type { InvocationContext } from './invocation-context.ts';

/**
 * Returns the memory of the context's user.
 *
 * @throws MeshError `failed_precondition` without a memory service
 */
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

/**
 * Returns the session with all events that memory may not have yet. A turn holds only the end of a long
 * session, so the missing events are read here.
 */
async function sinceMemory(
  memory: BaseMemoryService & Partial<Pick<MemoryService, 'findMark'>>,
  { session, sessionService }: InvocationContext,
): Promise<Session> {
  const unread = unreadBefore(session);
  if (unread === 0) return session;
  const { appName, userId, id: sessionId } = session;
  const ref = { appName, userId, sessionId };
  const read = (from: number, to: number) => readBetween(sessionService, ref, from, to);
  const from = (await memory.findMark?.(ref))?.seq ?? 1;
  const before = Math.min(from - 1, unread);
  const events = [...(await read(before, unread)), ...session.events];
  // Rewound events may be in memory already.
  const rewound = events.slice(from - before).some(isRewind);
  return { ...session, events: rewound ? [...(await read(0, before)), ...events] : events };
}

/** Reads the stored events with numbers above `from` and up to `to`. */
async function readBetween(
  sessions: InvocationContext['sessionService'],
  ref: SessionRef,
  from: number,
  to: number,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let afterSeq = from; afterSeq < to; ) {
    const page = await sessions.log.readEvents({
      ...ref,
      afterSeq,
      limit: Math.min(pageSize, to - afterSeq),
    });
    const inRange = page.filter(({ seq }) => seq <= to);
    events.push(...inRange.map(({ event }) => event));
    afterSeq = inRange.at(-1)?.seq ?? to;
  }
  return events;
}

const pageSize = 1_000;

function cannot(method: string): MeshError {
  return new MeshError('failed_precondition', `the memoryService of the runner has no ${method}`);
}

import type { MemoryService, Session } from '@agentmesh/agent';
import { isRewind } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { assertFits } from '../../params/assert-fits.ts';
import { readBody, readUser } from '../../params/params.ts';
import { requireMemory } from '../../params/require-memory.ts';
import { requireSession } from '../../params/require-session.ts';

export const addToMemoryBody = z.strictObject({ sessionId: z.string().min(1) });

/** Adds the session to memory, without rewound events, so that other sessions find it. */
export const addToMemory: Handler = async (context, request) => {
  const { sessionId } = readBody(addToMemoryBody, request);
  const ref = { ...(await readUser(context, request)), sessionId };
  const memory = requireMemory(context);
  await context.large.readWhole(request, async () => {
    const part = await newPart(context, memory, ref);
    if (!part) await assertFits(context, ref, 'to add it to memory at once');
    await memory.addSessionToMemory(part ?? (await requireSession(context, ref)));
  });
  return null;
};

/**
 * Number of events that are read to find the new events; if they are not enough, the whole session is read.
 */
const pageSize = 1_000;

/**
 * Returns the session with only the last event that is in memory and the later events, so that a long past is
 * not read each time. Returns undefined when the whole session must be read.
 */
async function newPart(
  context: GatewayContext,
  memory: MemoryService,
  ref: SessionRef,
): Promise<Session | undefined> {
  const mark = await memory.findMark(ref);
  if (!mark) return undefined;
  const session = await requireSession(context, ref, { numRecentEvents: 0 });
  const stored = await context.mesh.sessions.log.readEvents({
    ...ref,
    afterSeq: mark.seq - 1,
    limit: pageSize,
  });
  // Another event has this number: the session was created again with the same id.
  if (stored[0]?.event.id !== mark.eventId || stored.length === pageSize) return undefined;
  // The rewound events may be in memory already.
  if (stored.slice(1).some(({ event }) => isRewind(event))) return undefined;
  return { ...session, seq: stored.at(-1)?.seq ?? session.seq, events: stored.map(({ event }) => event) };
}

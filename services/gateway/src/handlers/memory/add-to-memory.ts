import type { MemoryService, Session } from '@agentmesh/agent';
import { isRewind } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { readBody, readUser } from '../../params/params.ts';
import { requireMemory } from '../../params/require-memory.ts';
import { requireSession } from '../../params/require-session.ts';

const body = z.object({ sessionId: z.string().min(1) });

/** What was said in the session so far, and was not rewound, is found in others from now on. */
export const addToMemory: Handler = async (context, request) => {
  const { sessionId } = readBody(body, request);
  const ref = { ...(await readUser(context, request)), sessionId };
  const memory = requireMemory(context);
  const session = (await newPart(context, memory, ref)) ?? (await requireSession(context, ref));
  await memory.addSessionToMemory(session);
  return null;
};

/** Events that are read to find what is new; beyond them the whole session is. */
const pageSize = 1_000;

/** Of a session that is in memory up to some event, that event and those behind it: a long past is not read each time. */
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
  // Another event at its place: the session is another one, made anew under the same id.
  if (stored[0]?.event.id !== mark.eventId || stored.length === pageSize) return undefined;
  // What was rewound may be in memory already.
  if (stored.slice(1).some(({ event }) => isRewind(event))) return undefined;
  return { ...session, seq: stored.at(-1)?.seq ?? session.seq, events: stored.map(({ event }) => event) };
}

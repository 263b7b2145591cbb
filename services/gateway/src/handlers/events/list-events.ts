import type { Handler } from '../../context/route.ts';
import { pageSize, position, readQuery, readSession } from '../../params/params.ts';
import { requireSession } from '../../params/require-session.ts';

export const listEventsQuery = { after: position.default(0), limit: pageSize.default(100) };

/**
 * Answers with a page of the session's log: committed events with their numbers, and the number of the
 * session's last event.
 */
export const listEvents: Handler = async (context, request) => {
  const { after: afterSeq, limit } = readQuery(listEventsQuery, request);
  const ref = await readSession(context, request);
  const { seq: lastSeq } = await requireSession(context, ref, { numRecentEvents: 0 });
  return { events: await context.mesh.sessions.log.readEvents({ ...ref, afterSeq, limit }), lastSeq };
};

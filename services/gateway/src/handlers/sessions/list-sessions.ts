import type { SessionRef } from '@agentmesh/protocol';
import { listJoiner } from '../../answers/event-pages.ts';
import { PageSize } from '../../answers/page-size.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Parts } from '../../context/large-answers.ts';
import type { Handler } from '../../context/route.ts';
import { pageSize, readQuery, readUser, wholeNumber } from '../../params/params.ts';
import { sessionJson } from './session-json.ts';

export const listSessionsQuery = { limit: pageSize.default(100), offset: wholeNumber.default(0) };

/**
 * Lists sessions, newest first, as a bare array: ADK's Python server answers so and its web page expects it.
 */
export const listSessions: Handler = async (context, request, reply) => {
  const part = readQuery(listSessionsQuery, request);
  const user = await readUser(context, request);
  const { totalItems } = await context.mesh.sessions.listSessions({ ...user, limit: 0 });
  reply.header('x-total-count', totalItems);
  return await context.large.sendJson(request, reply, () => listParts(context, user, part));
};

/** Reads a few sessions at a time: a state may be large. */
function* listParts(
  { mesh }: GatewayContext,
  user: Omit<SessionRef, 'sessionId'>,
  { limit, offset }: { limit: number; offset: number },
): Parts {
  const size = new PageSize({ first: 4, most: 100 });
  const join = listJoiner();
  const sent = new Set<string>();
  const end = offset + limit;
  let isOver = false;
  yield async () => '[';
  for (let at = offset; at < end && !isOver; ) {
    yield async () => {
      const count = Math.min(size.next, end - at);
      const { sessions, totalItems } = await mesh.sessions.listSessions({
        ...user,
        limit: count,
        offset: at,
      });
      // A session with a new event moves to the front, and others come a second time.
      const text = join(sessions.filter(({ id }) => !sent.has(id)).map(sessionJson));
      for (const { id } of sessions) sent.add(id);
      size.note(count, text.length);
      at += count;
      isOver = at >= totalItems;
      return text;
    };
  }
  yield async () => ']';
}

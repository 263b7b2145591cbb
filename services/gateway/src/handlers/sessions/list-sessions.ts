import type { Handler } from '../../context/route.ts';
import { pageSize, readQuery, readUser, wholeNumber } from '../../params/params.ts';
import { sessionJson } from './session-json.ts';

export const listSessionsQuery = { limit: pageSize.default(100), offset: wholeNumber.default(0) };

/**
 * Lists sessions, newest first, as a bare array: ADK's Python server answers so and its web page expects it.
 */
export const listSessions: Handler = async (context, request, reply) => {
  const page = readQuery(listSessionsQuery, request);
  const { sessions, totalItems } = await context.mesh.sessions.listSessions({
    ...(await readUser(context, request)),
    ...page,
  });
  reply.header('x-total-count', totalItems);
  return sessions.map(sessionJson);
};

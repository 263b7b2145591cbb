import type { Handler } from '../../context/route.ts';
import { pageSize, readQuery, readUser, wholeNumber } from '../../params/params.ts';
import { sessionJson } from './session-json.ts';

const query = { limit: pageSize.default(100), offset: wholeNumber.default(0) };

/** Newest first, as a bare array: what ADK's Python server answers and its web page expects. */
export const listSessions: Handler = async (context, request, reply) => {
  const page = readQuery(query, request);
  const { sessions, totalItems } = await context.mesh.sessions.listSessions({
    ...(await readUser(context, request)),
    ...page,
  });
  reply.header('x-total-count', totalItems);
  return sessions.map(sessionJson);
};

import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { readUser } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

const query = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  offset: z.coerce.number().int().min(0).default(0),
});

/** Newest first, as a bare array: what ADK's Python server answers and its web page expects. */
export const listSessions: Handler = async (context, request, reply) => {
  const page = parse(query, request.query, 'the query');
  const { sessions, totalItems } = await context.mesh.sessions.listSessions({
    ...(await readUser(context, request)),
    ...page,
  });
  reply.header('x-total-count', totalItems);
  return sessions.map(sessionJson);
};

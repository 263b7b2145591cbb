import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { knownSession } from '../known-session.ts';
import { position, readSession } from '../params.ts';
import type { Handler } from './index.ts';

const query = z.object({
  after: position.default(0),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
});

/** A page of the session's log: committed events with their numbers, and the number of the session's last one. */
export const listEvents: Handler = async (context, request) => {
  const { after: afterSeq, limit } = parse(query, request.query, 'the query');
  const ref = await readSession(context, request);
  const { seq: lastSeq } = await knownSession(context, ref, { numRecentEvents: 0 });
  return { events: await context.mesh.sessions.readEvents({ ...ref, afterSeq, limit }), lastSeq };
};

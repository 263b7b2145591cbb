import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { knownMemory } from '../known-memory.ts';
import { readUser } from '../params.ts';
import type { Handler } from './index.ts';

const query = z.object({ sessionId: z.string().min(1).optional() });

/** Forgets what was said in a session, or all of the user. */
export const deleteMemories: Handler = async (context, request) => {
  const { sessionId } = parse(query, request.query, 'the query');
  const owner = await readUser(context, request);
  const deleted = await knownMemory(context).deleteMemories({
    ...owner,
    ...(sessionId !== undefined && { sessionId }),
  });
  return { deleted };
};

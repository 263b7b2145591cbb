import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { knownMemory } from '../known-memory.ts';
import { readUser } from '../params.ts';
import type { Handler } from './index.ts';

const query = z.object({
  query: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be `next` of the page before')
    .optional(),
});

/** With a query: what fits it, best first. Without: all of the user's memories, page by page. */
export const listMemories: Handler = async (context, request) => {
  const { query: words, limit, after } = parse(query, request.query, 'the query');
  const owner = { ...(await readUser(context, request)), ...(limit !== undefined && { limit }) };
  const memory = knownMemory(context);
  if (words !== undefined) return await memory.searchMemory({ ...owner, query: words });
  return await memory.listMemories({ ...owner, ...(after !== undefined && { after }) });
};

import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { pageSize, readQuery, readUser } from '../../params/params.ts';
import { requireMemory } from '../../params/require-memory.ts';

export const listMemoriesQuery = {
  query: z.string().optional(),
  limit: pageSize.optional(),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be `next` of the page before')
    .optional(),
};

/** Searches the user's memories with a query, best first. Without a query lists all of them, page by page. */
export const listMemories: Handler = async (context, request) => {
  const { query: words, limit, after } = readQuery(listMemoriesQuery, request);
  const owner = { ...(await readUser(context, request)), ...(limit !== undefined && { limit }) };
  const memory = requireMemory(context);
  if (words !== undefined) return await memory.searchMemory({ ...owner, query: words });
  return await memory.listMemories({ ...owner, ...(after !== undefined && { after }) });
};

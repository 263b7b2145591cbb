import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { readQuery, readUser } from '../../params/params.ts';
import { requireMemory } from '../../params/require-memory.ts';

export const deleteMemoriesQuery = {
  sessionId: z.string().min(1).optional(),
  all: z.literal('true', 'must be true, or be left out').optional(),
};

/**
 * Deletes the memories of a session, or all memories of the user if the request says so: a missing session id
 * must not delete everything.
 */
export const deleteMemories: Handler = async (context, request) => {
  const { sessionId, all } = readQuery(deleteMemoriesQuery, request);
  if ((sessionId === undefined) === (all === undefined)) {
    throw new MeshError(
      'invalid_argument',
      'name the memories to delete: ?sessionId=… for those of a session, ?all=true for all of the user',
    );
  }
  const owner = await readUser(context, request);
  const deleted = await requireMemory(context).deleteMemories({
    ...owner,
    ...(sessionId !== undefined && { sessionId }),
  });
  return { deleted };
};

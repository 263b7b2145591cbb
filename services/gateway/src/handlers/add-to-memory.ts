import { z } from 'zod';
import { knownMemory } from '../known-memory.ts';
import { knownSession } from '../known-session.ts';
import { readBody, readUser } from '../params.ts';
import type { Handler } from './index.ts';

const body = z.object({ sessionId: z.string().min(1) });

/** What was said in the session so far is found in others from now on. */
export const addToMemory: Handler = async (context, request) => {
  const { sessionId } = readBody(body, request);
  const session = await knownSession(context, { ...(await readUser(context, request)), sessionId });
  await knownMemory(context).addSessionToMemory(session);
  return null;
};

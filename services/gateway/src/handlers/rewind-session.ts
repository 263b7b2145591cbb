import { rewindSession } from '@agentmesh/agent';
import { z } from 'zod';
import { knownSession } from '../known-session.ts';
import { readBody, readSession } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

const body = z.strictObject({ rewindBeforeInvocationId: z.string().min(1) });

/** The session goes on as it was before an invocation. */
export const rewind: Handler = async (context, request) => {
  const ref = await readSession(context, request);
  const { rewindBeforeInvocationId } = readBody(body, request);
  await rewindSession(context.mesh.sessions, ref, rewindBeforeInvocationId);
  return sessionJson(await knownSession(context, ref));
};

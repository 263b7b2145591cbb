import { copySession } from '@agentmesh/agent/internal';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { assertFits } from '../../params/assert-fits.ts';
import { readBody, readSession } from '../../params/params.ts';
import { assertSessionName } from '../../params/session-name.ts';
import { sendSession } from './session-json.ts';

export const forkBody = z.strictObject({
  sessionId: z.string().min(1).optional(),
  beforeInvocationId: z.string().min(1).optional(),
});

/** Makes a copy of the session, whole or up to an invocation. */
export const fork: Handler = async (context, request, reply) => {
  const ref = await readSession(context, request);
  const { sessionId, beforeInvocationId } = readBody(forkBody, request);
  if (sessionId !== undefined) assertSessionName(sessionId);
  const options = {
    ...(sessionId !== undefined && { sessionId }),
    ...(beforeInvocationId !== undefined && { beforeInvocationId }),
  };
  const id = await context.large.readWhole(request, async () => {
    await assertFits(context, ref, 'to copy');
    return await copySession(context.mesh.sessions, ref, options);
  });
  return await sendSession(context, request, reply, { ...ref, sessionId: id });
};

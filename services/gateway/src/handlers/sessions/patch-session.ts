import { createEvent } from '@agentmesh/agent';
import { newInvocationId } from '@agentmesh/agent/internal';
import { z } from 'zod';
import { assertMayWriteState } from '../../access/check-access.ts';
import type { Handler } from '../../context/route.ts';
import { readBody, readSession } from '../../params/params.ts';
import { requireSession } from '../../params/require-session.ts';
import { sendSession } from './session-json.ts';

export const patchSessionBody = z.strictObject({ stateDelta: z.record(z.string(), z.unknown()) });

/** Changes the state by an event of the user, so that the log contains the change. */
export const patchSession: Handler = async (context, request, reply) => {
  const { stateDelta } = readBody(patchSessionBody, request);
  const ref = await readSession(context, request);
  assertMayWriteState(request, ref.appName, stateDelta);
  const session = await requireSession(context, ref, { numRecentEvents: 0 });
  const event = createEvent({ invocationId: newInvocationId(), author: 'user', actions: { stateDelta } });
  await context.mesh.sessions.appendEvent({ session, event });
  return await sendSession(context, request, reply, ref);
};

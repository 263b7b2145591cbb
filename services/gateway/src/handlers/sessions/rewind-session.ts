import { rewind } from '@agentmesh/mesh';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { assertFits } from '../../params/assert-fits.ts';
import { readBody, readSession } from '../../params/params.ts';
import { sendSession } from './session-json.ts';

export const rewindBody = z.strictObject({ rewindBeforeInvocationId: z.string().min(1) });

/** Rewinds the session to its state before an invocation. */
export const rewindSession: Handler = async (context, request, reply) => {
  const ref = await readSession(context, request);
  const { rewindBeforeInvocationId } = readBody(rewindBody, request);
  await context.large.readWhole(request, async () => {
    await assertFits(context, ref, 'to rewind');
    await rewind(context.mesh, ref, rewindBeforeInvocationId);
  });
  return await sendSession(context, request, reply, ref);
};

import { isResumeId } from '@agentmesh/agent/internal';
import { cancelInvocation as cancel, readInvocation } from '@agentmesh/mesh';
import { isStartedIn } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { readBody, readInvocationRef } from '../../params/params.ts';
import { requireLog } from '../../params/require-session.ts';

export const cancelBody = z.strictObject({
  reason: z.string().min(1).max(1_000).default('the client cancelled it'),
  resume: z.string().min(1).max(256).optional(),
});

/**
 * Cancels an invocation, or the run `resume` that continues it, and answers 202 with its state: `running` until the
 * workers have stopped. A waiting run ends at once, and so does one that no replica has taken: a gateway made its id, so
 * it was accepted. A run that has ended stays as it is. An id that no gateway made for this session is not found before
 * the run has begun.
 */
export const cancelInvocation: Handler = async (context, request, reply) => {
  const { reason, resume } = readBody(cancelBody, request);
  const ref = { ...(await readInvocationRef(context, request)), resume };
  await requireLog(context, ref);
  // A run can only continue what the session has.
  if (resume !== undefined) await readInvocation(context.mesh, { ...ref, resume: undefined });
  const untaken = resume === undefined ? isStartedIn(ref.invocationId, ref) : isResumeId(resume);
  await cancel(context.mesh, ref, reason, { untaken });
  return reply.status(202).send(await readInvocation(context.mesh, ref));
};

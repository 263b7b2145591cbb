import type { EndedInvocation, InvocationRef, RunEnd } from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import type { OpenRun } from './run.ts';
import { startNext } from './run-queue.ts';

/**
 * Publishes the end of the run and starts the next run of the session, if there is one. A second delivery repeats
 * both.
 *
 * @param found the session at the end of the run, and its mark; absent when the run ended in another delivery
 */
export async function endRun(
  mesh: Mesh,
  ref: InvocationRef,
  ended: RunEnd,
  { carrier, session: { seq } }: OpenRun,
  found?: Pick<EndedInvocation, 'lastSeq' | 'isIdle'> & { mark: string },
): Promise<WorkOutcome> {
  await publishEnd(mesh, ref, { ...ended, lastSeq: found?.lastSeq ?? seq }, carrier);
  if (found?.isIdle) await mesh.sessions.leases.noteIdle(ref, found.mark);
  else await startNext(mesh, ref);
  return { done: true };
}

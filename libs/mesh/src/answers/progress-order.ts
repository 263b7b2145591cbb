import { getFunctionCalls } from '@agentmesh/agent';
import { progressId } from '@agentmesh/agent/internal';
import type { WorkItem } from '@agentmesh/bus';
import type { OperationUpdate } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { findBackwards } from '../messages/find-event.ts';
import type { LocatedCall } from './start-answer-run.ts';

/**
 * The deliveries, some eight seconds, after which an update no longer waits for the progress before it: a worker that
 * could not publish a progress goes on without it.
 */
const mostWaits = 8;

/**
 * Tells whether an update of a job has overtaken the progress before it, so that it must wait. The run that follows the
 * job commits that progress, or another replica has taken it.
 */
export async function hasOvertaken(
  mesh: Mesh,
  { ref, callId, pending }: LocatedCall,
  { seq = 1, answers }: OperationUpdate,
  { attempt }: Pick<WorkItem, 'attempt'>,
): Promise<boolean> {
  if (!pending || seq < 2 || attempt > mostWaits) return false;
  const session = await mesh.sessions.leases.look(ref);
  if (!session) return false;
  const before = progressId(callId, seq - 1, answers);
  // No progress comes before its call, so the search ends there.
  const last = await findBackwards(
    mesh,
    ref,
    session.seq,
    ({ event }) => event.id === before || getFunctionCalls(event).some(({ id }) => id === callId),
  );
  return last?.event.id !== before;
}

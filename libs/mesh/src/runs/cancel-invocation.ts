import { endOfRun, type InvocationRecord, type InvocationRef, type RunEnd } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { startNext } from './run-queue.ts';

/**
 * Cancels an invocation: what works on it, in whatever process, is told and stops; a run that waits its turn never begins. The mark is kept, so
 * that who did not hear it, or takes the run later, ends it too. Returns the record as it then is: `running` until those at work have stopped.
 * One that has ended stays as it is.
 *
 * @throws MeshError `not_found` for an invocation that has neither begun in this session nor waits in its queue: it may not have been taken yet
 */
export async function cancelInvocation(
  mesh: Mesh,
  ref: InvocationRef,
  reason = 'somebody cancelled it',
): Promise<InvocationRecord> {
  const record = await mesh.sessions.invocations.cancel(ref, reason);
  if (!record) {
    throw new MeshError(
      'not_found',
      `invocation ${ref.invocationId} has not begun in session ${ref.sessionId}, and does not wait there; if it was just accepted, try again`,
    );
  }
  if (record.status === 'running')
    await mesh.bus.publish(mesh.subjects.invocationCancel(ref.invocationId), { reason });
  // What waited in the queue of its session: nobody else will tell.
  const waited = cancelledRuns(record);
  for (const [resume, { status, error }] of waited) {
    const end = { status, lastSeq: 0, ...(error && { error }) };
    await publishEnd(mesh, { ...ref, ...(resume === '' ? {} : { resume }) }, end, {});
  }
  if (waited.length > 0) await startNext(mesh, ref);
  return record;
}

/** Its runs that ended by being cancelled, by their `resume`. */
function cancelledRuns(record: InvocationRecord): [resume: string, end: RunEnd][] {
  const first = endOfRun(record);
  const ends: [string, RunEnd][] = record.ends ? [...record.ends] : first ? [['', first]] : [];
  return ends.filter(([, { error }]) => error?.code === 'cancelled');
}

import {
  endOfRun,
  type InvocationRecord,
  type InvocationRef,
  type RunEnd,
  statusOfRecord,
} from '@agentmesh/agent/internal';
import { header, MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { startNext } from './run-queue.ts';

/**
 * Cancels an invocation: every process that works on it stops, and a run that waits in the session's queue
 * never begins. The mark is kept, so a process that missed the message, or takes the run later, ends the run
 * too. Returns the record after the mark: `running` until the workers have stopped. An invocation that has
 * ended stays as it is.
 *
 * @param options `untaken`: true if no replica may have taken the run yet. The run is then ended at once, and a replica
 * that takes its command drops it; an invocation that never existed is ended too, and its record expires
 * @throws MeshError `not_found` for an invocation that has not begun in this session and does not wait in the
 * session's queue
 */
export async function cancelInvocation(
  mesh: Mesh,
  ref: InvocationRef,
  reason = 'somebody cancelled it',
  { untaken = false }: { untaken?: boolean } = {},
): Promise<InvocationRecord> {
  const record = await mesh.sessions.invocations.cancel(ref, reason, { untaken });
  if (!record) {
    throw new MeshError(
      'not_found',
      `invocation ${ref.invocationId} has not begun in session ${ref.sessionId}, and does not wait there; if it was just accepted, try again`,
    );
  }
  const { appName: app, userId: user, resume } = ref;
  const status = statusOfRecord(record);
  // A message would also stop another run of the invocation: one that is at work, or that begins soon.
  const isMeant = resume === undefined || record.resume === resume;
  if (isMeant && (status === 'running' || (untaken && status === 'cancelled')))
    await mesh.bus.publish(
      mesh.subjects.invocationCancel(ref.invocationId, mesh.bus.service),
      { reason: reasonIn(record) ?? reason, app, user },
      { headers: { [header.replica]: mesh.bus.replica } },
    );
  // Runs that waited in the session's queue: no other process publishes their end.
  const waitingRuns = cancelledRuns(record);
  for (const [resume, { status, error }] of waitingRuns) {
    const end = { status, lastSeq: 0, ...(error && { error }) };
    await publishEnd(mesh, { ...ref, ...(resume === '' ? {} : { resume }) }, end, {});
  }
  if (waitingRuns.length > 0) await startNext(mesh, ref);
  return record;
}

/** Returns the reason that the store has: of several requests at once the first one counts. */
function reasonIn(record: InvocationRecord): string | undefined {
  return record.cancelled ?? (statusOfRecord(record) === 'cancelled' ? record.error?.message : undefined);
}

/** Returns the runs of the invocation that ended because they were cancelled, by their `resume`. */
function cancelledRuns(record: InvocationRecord): [resume: string, end: RunEnd][] {
  const first = endOfRun(record);
  const ends: [string, RunEnd][] = record.ends ? [...record.ends] : first ? [['', first]] : [];
  return ends.filter(([, { error }]) => error?.code === 'cancelled');
}

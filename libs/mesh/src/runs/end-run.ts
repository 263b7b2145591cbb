import type { Session } from '@agentmesh/agent';
import {
  type EndedInvocation,
  type EndingCommit,
  endOfRun,
  type InvocationRef,
  logIndex,
  type RunEnd,
  type RunId,
  recordedEnd,
} from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import { type Event, header } from '@agentmesh/protocol';
import { fencedSessions } from '../fencing/fenced-sessions.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import type { OpenRun } from './run.ts';
import { startNext } from './run-queue.ts';

/** Records the end of a run that is done, unless the commit of its last event has recorded it. */
export async function completeRun(
  { sessions }: Mesh,
  ref: InvocationRef,
  { session, ending }: OpenRun,
  token: number,
): Promise<Pick<EndedInvocation, 'lastSeq' | 'isIdle'> & { end: RunEnd }> {
  if (ending?.isIdle !== undefined)
    return { end: recordedEnd(ending.as), lastSeq: session.seq, isIdle: ending.isIdle };
  const { as } = endingOf(session, ref);
  const ended = await fencedSessions(sessions, token).invocations.end(ref, as);
  return { ...ended, end: endOfRun(ended, ref.resume) ?? recordedEnd(as) };
}

/** Returns the end of a run of which nothing has failed. */
export function endingOf(session: Session, { invocationId, resume }: RunId): EndingCommit {
  return { resume, as: { status: 'completed', waits: mayGoOn(session, invocationId) } };
}

/** Tells whether the event has ended its run in its own commit, and its headers can say so to the watchers. */
export function saidLastWord(
  { ending, carrier, session }: OpenRun,
  event: Event,
  resume: string | undefined,
): boolean {
  if (ending?.isIdle === undefined || session.events.at(-1)?.id !== event.id) return false;
  return carrier[header.resume] === resume;
}

/** Tells whether the invocation has left calls open, so that an answer to them may continue it. */
function mayGoOn({ events }: Session, invocationId: string): boolean {
  return logIndex(events)
    .ofInvocation(invocationId)
    .some(({ longRunningToolIds = [] }) => longRunningToolIds.length > 0);
}

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
  { carrier, toldEnd }: OpenRun,
  found?: Pick<EndedInvocation, 'lastSeq' | 'isIdle'> & { mark: string },
): Promise<WorkOutcome> {
  if (!toldEnd) {
    // Another delivery may have committed events after this one has read the session.
    const lastSeq = found?.lastSeq ?? (await mesh.sessions.leases.look(ref))?.seq ?? 0;
    await publishEnd(mesh, ref, { ...ended, lastSeq }, carrier);
  }
  if (found?.isIdle) await mesh.sessions.leases.noteIdle(ref, found.mark);
  else await startNext(mesh, ref);
  return { done: true };
}

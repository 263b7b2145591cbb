import { endOfRun, type InvocationRecord, type InvocationRef, noSession } from '@agentmesh/agent/internal';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import { MeshError, traceIdOf } from '@agentmesh/protocol';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { endRun } from './end-run.ts';
import type { DeliveredRun, OpenRun, Run } from './run.ts';
import { startNext } from './run-queue.ts';
import { rejection, waitForTurn, waitingRun } from './wait-for-turn.ts';

/**
 * Number of processes that may die at a run, each before it commits anything, until the run becomes a dead
 * letter.
 */
const maxBegun = 5;

/** Pause until the queue delivers a copy of a running run again, in ms. */
const duplicateMs = 1_000;

/**
 * Takes the session. Returns the fencing token, or the outcome of a run that cannot begin now.
 *
 * @param earlier place of an earlier run of the session that has not arrived in its queue
 * @throws MeshError `not_found` when the session is gone, or is not the session for which the run was
 * accepted; `internal` when too many processes died at the run
 */
export async function takeLease(
  served: ServedAgent,
  run: Run,
  delivery: OpenRun,
  { ref, earlier }: { ref: InvocationRef; earlier: number | undefined },
): Promise<number | WorkOutcome> {
  const { mesh } = served;
  const taken = await mesh.sessions.leases.take(ref, {
    run: JSON.stringify(waitingRun(served, run, delivery)),
    whenBusy: run.whenBusy,
    ...(run.whenBusy === 'reject' && { rejection }),
    delivery: { part: partOf(run), message: delivery.item.key },
    place: delivery.item.place,
    earlier,
    incarnation: run.incarnation,
  });
  if (taken.state === 'duplicate') {
    mesh.log.info(
      {
        invocationId: run.invocationId,
        session: run.session,
        traceId: traceIdOf(delivery.item.headers),
      },
      'a copy of the run is at work; this one waits for its end',
    );
    return { done: false, delayMs: duplicateMs };
  }
  if (taken.state === 'busy')
    return await waitForTurn(mesh, ref, run, { ...taken, isBehind: earlier !== undefined }, delivery);
  if (taken.state === 'elsewhere') return await refuseId(served, run, delivery.item);
  if (taken.state === 'gone') throw noSession(ref);
  if (taken.state === 'ended') {
    const earlierEnd = endOfRun(await mesh.sessions.invocations.get(ref), run.resume);
    return await endRun(mesh, ref, earlierEnd ?? { status: 'completed' }, delivery);
  }
  delivery.token = taken.token;
  if (taken.cancelled !== undefined) delivery.cancelled = taken.cancelled;
  if (taken.begun > maxBegun) throw await poisoned(served, delivery, taken.begun);
  return taken.token;
}

/**
 * Tells whether a run that begins an invocation has the id of a run of another session of the user. The store
 * itself refuses runs that continue an invocation of another session.
 */
export function isElsewhere({ session, resume }: Run, { home }: Pick<InvocationRecord, 'home'>): boolean {
  return resume === undefined && home !== undefined && home !== session;
}

/**
 * Moves a run command to the dead letters because a run of another session has the id of its invocation. The
 * record and the watchers of this id belong to the other run.
 */
export async function refuseId(served: ServedAgent, run: Run, item: WorkItem): Promise<WorkOutcome> {
  const { mesh, agent } = served;
  const { app, user, session, invocationId } = run;
  const error = new MeshError(
    'already_exists',
    `a run of another session has the invocation id ${invocationId}; choose a new id for each run, or leave it out`,
  );
  mesh.log.error({ err: error, invocationId, session }, 'moved a run command to the dead letters');
  await moveToDeadLetters(mesh, { kind: 'agent', name: agent.name }, item, error);
  await startNext(mesh, { appName: app, userId: user, sessionId: session });
  return { done: true };
}

/** Names the part of the invocation that the run is: its hop, and the continuation to which it belongs. */
export function partOf({ hop, resume }: Run): string {
  return resume === undefined ? `hop:${hop}` : `hop:${hop}:${resume}`;
}

async function poisoned(served: ServedAgent, { item }: DeliveredRun, begun: number): Promise<MeshError> {
  const error = new MeshError(
    'internal',
    `${begun - 1} processes died at this run, each before its first step was done; it was moved to the dead letters`,
  );
  await moveToDeadLetters(served.mesh, { kind: 'agent', name: served.agent.name }, item, error);
  return error;
}

import type { InvocationRef } from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import { header, MeshError, traceIdOf, type WaitingRun } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { countWait } from '../mesh/metrics.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { cancelInvocation } from './cancel-invocation.ts';
import type { DeliveredRun, Run } from './run.ts';
import { askSilentHolder, startNext } from './run-queue.ts';

const done: WorkOutcome = { done: true };

/** The end of a run with `whenBusy: 'reject'` that finds the session busy. */
export const rejection = {
  status: 'failed',
  error: {
    code: 'resource_exhausted',
    message: 'another run is at work in the session; wait for its end',
  },
} as const;

/** Returns the run in the form in which the session's queue keeps it. */
export function waitingRun(
  { agent }: ServedAgent,
  { fresh: _fresh, ...command }: Run,
  { item, arrived }: DeliveredRun,
): WaitingRun {
  const { [header.messageId]: _id, ...rest } = item.headers;
  // A run may wait more than once before it begins.
  const headers = { [header.waitsSince]: String(arrived), ...rest };
  return { agent: agent.name, command, headers, from: item.key };
}

/** The reason for which a run cannot begin now. */
interface Busy {
  holder?: string;
  isFull?: true;
  isRejected?: true;
  /** True if an earlier run of the session has not arrived yet. */
  isBehind: boolean;
}

/**
 * Leaves a run in the queue of its session while another invocation holds the session, or while its user has
 * the full share. A waiting run takes neither a slot nor further deliveries. A run with `whenBusy: 'reject'` has ended instead; a run with
 * `'interrupt'` also cancels the invocation that holds the session.
 */
export async function waitForTurn(
  mesh: Mesh,
  ref: InvocationRef,
  { whenBusy }: Run,
  { holder, isFull, isRejected, isBehind }: Busy,
  { carrier, item, tally }: DeliveredRun,
): Promise<WorkOutcome> {
  const { invocationId, sessionId: session } = ref;
  const ids = { invocationId, session, traceId: traceIdOf(item.headers) };
  // A run that may not wait for its session may wait for the share of its user.
  if (isRejected) {
    mesh.log.info({ ...ids, holder }, 'refused a run: another run has its session');
    await publishEnd(mesh, ref, { ...rejection, lastSeq: 0 }, carrier);
    await askSilentHolder(mesh, ref);
    return done;
  }
  countWait(tally.name, isFull ? 'share' : 'session');
  if (isFull) {
    // The end of a run of the user starts the next one.
    mesh.log.info(ids, 'run waits: its user has the full share of the running work');
    return done;
  }
  mesh.log.info({ ...ids, holder, isBehind, whenBusy }, 'run waits for its session');
  if (holder === undefined) {
    // An earlier run that has yet to arrive takes the session, and starts the next run at its end.
    if (!isBehind) await startNext(mesh, ref);
  }
  // A run of the same invocation is not a newer message.
  else if (whenBusy === 'interrupt' && holder !== ref.invocationId) {
    const interrupted = { ...ref, invocationId: holder, resume: undefined };
    await cancelInvocation(mesh, interrupted, 'a newer message interrupted it').catch((error) => {
      // The holder has ended meanwhile.
      if (MeshError.from(error).code !== 'not_found') throw error;
    });
  }
  return done;
}

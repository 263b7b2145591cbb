import type { InvocationRef } from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import { header, MeshError, type WaitingRun } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { cancelInvocation } from './cancel-invocation.ts';
import type { DeliveredRun, Run } from './run.ts';
import { startNext } from './run-queue.ts';

const done: WorkOutcome = { done: true };

/** Puts a run into the words of its session's queue. */
export function waitingRun(
  { agent }: ServedAgent,
  { fresh: _fresh, ...command }: Run,
  { item }: DeliveredRun,
): WaitingRun {
  const { [header.messageId]: _id, ...headers } = item.headers;
  return { agent: agent.name, command, headers, from: item.key };
}

/**
 * Leaves a run to the queue of its session, which another invocation has: it takes neither a slot nor deliveries there. One that does not wait ends; one that
 * interrupts cancels the other one.
 */
export async function waitForTurn(
  mesh: Mesh,
  ref: InvocationRef,
  { whenBusy }: Run,
  holder: string | undefined,
  { carrier }: DeliveredRun,
): Promise<WorkOutcome> {
  if (whenBusy === 'reject') {
    const error = {
      code: 'resource_exhausted',
      message: 'another run is at work in the session; wait for its end',
    };
    await mesh.sessions.invocations.end(ref, { status: 'failed', error });
    await publishEnd(mesh, ref, { status: 'failed', lastSeq: 0, error }, carrier);
    return done;
  }
  if (holder === undefined) await startNext(mesh, ref);
  // What is asked at the same time is no newer message.
  else if (whenBusy === 'interrupt' && holder !== ref.invocationId) {
    const interrupted = { ...ref, invocationId: holder, resume: undefined };
    await cancelInvocation(mesh, interrupted, 'a newer message interrupted it').catch((error) => {
      // It has gone meanwhile.
      if (MeshError.from(error).code !== 'not_found') throw error;
    });
  }
  return done;
}

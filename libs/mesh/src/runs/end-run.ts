import type { InvocationRef, RunEnd } from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import type { OpenRun } from './run.ts';
import { startNext } from './run-queue.ts';

/** Publishes the end of the run and starts the next run of the session. A second delivery repeats both. */
export async function endRun(
  mesh: Mesh,
  ref: InvocationRef,
  ended: RunEnd,
  { carrier, session: { seq } }: OpenRun,
): Promise<WorkOutcome> {
  await publishEnd(mesh, ref, { ...ended, lastSeq: seq }, carrier);
  await startNext(mesh, ref);
  return { done: true };
}

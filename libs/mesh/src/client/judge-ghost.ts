import { type CallRef, endOfRun, type InvocationRef } from '@agentmesh/agent/internal';
import type { Ghost, GhostVerdict } from '@agentmesh/bus';
import { jobSchema, parse } from '@agentmesh/protocol';
import { callOf } from '../calls/job-call.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { hasBegun } from '../runs/earlier-run.ts';
import { readStoredRun } from './stored-run.ts';

/**
 * The age up to which a run without a record and without a message in the log was never begun, in ms: the
 * record of an ended run is kept for an hour.
 */
const freshMs = 1_800_000;
/** The age from which a run in the log without a recorded end has ended, in ms: its record was kept for a day. */
const agedMs = 25 * 3_600_000;

/**
 * Judges a message that NATS keeps and will not deliver, by the records in the store. A run that has ended is
 * removed, a run that never began is put into the queue again. A job is removed when its call waits no more.
 * Updates, other jobs, and runs whose records are gone are unclear.
 */
export async function judgeGhost(mesh: Mesh, ghost: Ghost): Promise<GhostVerdict> {
  switch (ghost.kind) {
    case 'run':
      return await judgeRun(mesh, ghost);
    case 'job':
      return await judgeJob(mesh, ghost);
    case 'operation':
      return 'unclear';
  }
}

/** A job that is still needed may have been begun, so it is not put into the queue again. */
async function judgeJob(mesh: Mesh, { bytes }: Ghost): Promise<GhostVerdict> {
  const call = callIn(bytes);
  if (!call) return 'unclear';
  return (await mesh.sessions.pending.stateOf(call)) === 'open' ? 'unclear' : 'removed';
}

/** Returns the call of a stored job; undefined for a call that no agent made, or when no tool could read it. */
function callIn(bytes: Uint8Array): CallRef | undefined {
  try {
    return callOf(parse(jobSchema, JSON.parse(Buffer.from(bytes).toString()), 'the job'));
  } catch {
    return undefined;
  }
}

/** Tells whether the run has its session, or waits for it or for the share of its user. */
async function isKept(mesh: Mesh, { invocationId, resume, ...ref }: InvocationRef): Promise<boolean> {
  const runs = await mesh.sessions.users.runsIn(ref);
  return runs.some((run) => run.invocationId === invocationId && run.resume === resume);
}

async function judgeRun(mesh: Mesh, { ageMs, ...stored }: Ghost): Promise<GhostVerdict> {
  const found = await readStoredRun(mesh, stored);
  if (!found) return 'unclear';
  const { app: appName, user: userId, session: sessionId, invocationId, resume } = found.run;
  const ref = { appName, userId, sessionId };
  const record = await mesh.sessions.invocations.get({ ...ref, invocationId });
  if (endOfRun(record, resume)) return 'removed';
  // The session keeps the text of a run that has it or waits for it, and the sweep publishes the run again.
  if (ageMs >= freshMs && (await isKept(mesh, { ...ref, invocationId, resume }))) return 'removed';
  if (await hasBegun(mesh, found.run)) return ageMs > agedMs && record.llmCalls === 0 ? 'removed' : 'unclear';
  return ageMs < freshMs ? 'requeued' : 'unclear';
}

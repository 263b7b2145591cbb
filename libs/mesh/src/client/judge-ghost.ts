import { endOfRun } from '@agentmesh/agent/internal';
import type { Ghost, GhostVerdict } from '@agentmesh/bus';
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
 * removed, a run that never began is put into the queue again. Updates and jobs, and runs whose records are
 * gone, are unclear.
 */
export async function judgeGhost(mesh: Mesh, { kind, ageMs, ...stored }: Ghost): Promise<GhostVerdict> {
  if (kind !== 'run') return 'unclear';
  const found = await readStoredRun(mesh, stored);
  if (!found) return 'unclear';
  const { app: appName, user: userId, session: sessionId, invocationId, resume } = found.run;
  const record = await mesh.sessions.invocations.get({ appName, userId, sessionId, invocationId });
  if (endOfRun(record, resume)) return 'removed';
  if (await hasBegun(mesh, found.run)) return ageMs > agedMs && record.llmCalls === 0 ? 'removed' : 'unclear';
  return ageMs < freshMs ? 'requeued' : 'unclear';
}

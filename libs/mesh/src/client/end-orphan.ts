import { endOfRun } from '@agentmesh/agent/internal';
import { decodeToken, header, MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { startNext } from '../runs/run-queue.ts';
import { endAsFailed } from '../runs/settle-run.ts';
import { readStoredRun, type StoredRun } from './stored-run.ts';

/**
 * Ends the run of a command that no agent will take, as failed: its watchers learn of the end, and the next run
 * of its session starts. The first end of a run stays. Returns false for a command that cannot be read.
 */
export async function endOrphan(mesh: Mesh, stored: StoredRun): Promise<boolean> {
  const found = await readStoredRun(mesh, stored);
  if (!found) return false;
  const { run, item } = found;
  const { app: appName, user: userId, session: sessionId, invocationId, resume } = run;
  const ref = { appName, userId, sessionId, invocationId, resume };
  const carrier = { ...hopHeaders(item.headers), ...(resume && { [header.resume]: resume }) };
  const earlierEnd = endOfRun(await mesh.sessions.invocations.get(ref), resume);
  if (earlierEnd) {
    await publishEnd(mesh, ref, { ...earlierEnd, lastSeq: 0 }, carrier);
    await startNext(mesh, ref);
    return true;
  }
  const agent = decodeToken(stored.subject.split('.').at(-3) ?? '');
  const error = new MeshError('not_found', `its agent ${agent} is gone; an operator buried the run`);
  await endAsFailed(mesh, run, { agent, carrier, token: undefined }, error);
  return true;
}

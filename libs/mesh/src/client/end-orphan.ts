import { endOfRun } from '@agentmesh/agent/internal';
import { decodeToken, header, MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { runIn } from '../runs/earlier-run.ts';
import { startNext } from '../runs/run-queue.ts';
import { endAsFailed } from '../runs/settle-run.ts';

/** The place of a run command in the stream of runs. */
export interface StoredRun {
  subject: string;
  /** The number of the command in the stream. */
  seq: number;
}

/**
 * Ends the run of a command that no agent will take, as failed: its watchers learn of the end, and the next run
 * of its session starts. The first end of a run stays. Returns false for a command that cannot be read.
 */
export async function endOrphan(mesh: Mesh, { subject, seq }: StoredRun): Promise<boolean> {
  for await (const item of mesh.bus.earlierRuns(lastToken(subject), seq + 1)) {
    if (item.place !== seq) continue;
    const run = runIn(mesh, item);
    if (!run) return false;
    const { app: appName, user: userId, session: sessionId, invocationId, resume } = run;
    const ref = { appName, userId, sessionId, invocationId, resume };
    const carrier = { ...hopHeaders(item.headers), ...(resume && { [header.resume]: resume }) };
    const earlierEnd = endOfRun(await mesh.sessions.invocations.get(ref), resume);
    if (earlierEnd) {
      await publishEnd(mesh, ref, { ...earlierEnd, lastSeq: 0 }, carrier);
      await startNext(mesh, ref);
      return true;
    }
    const agent = nameIn(subject);
    const error = new MeshError('not_found', `its agent ${agent} is gone; an operator buried the run`);
    await endAsFailed(mesh, run, { agent, carrier, token: undefined }, error);
    return true;
  }
  return false;
}

/** Returns the name of the agent in the subject of a run command. */
function nameIn(subject: string): string {
  return decodeToken(subject.split('.').at(-3) ?? '');
}

function lastToken(subject: string): string {
  return decodeToken(subject.slice(subject.lastIndexOf('.') + 1));
}

import { endOfRun, runName } from '@agentmesh/agent/internal';
import type { StoredItem } from '@agentmesh/bus';
import { decodeToken, MeshError, runCommandSchema } from '@agentmesh/protocol';
import { agentCard } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { completeRun } from './read-run.ts';
import type { Run } from './run.ts';

/**
 * Returns the place of the first run of the session that was accepted before this one and has not ended;
 * undefined if there is none. Such a run may have been delivered to a replica that is slow or stopped, so it
 * is not in the session's queue yet.
 */
export async function findEarlier(mesh: Mesh, run: Run, before: number): Promise<number | undefined> {
  // Only the first hop begins a run.
  if (run.fresh || run.hop > 0) return undefined;
  try {
    for await (const item of mesh.bus.earlierRuns(run.session, before)) {
      const other = runIn(mesh, item);
      if (other && isBefore(other, run) && !(await hasEnded(mesh, other))) return item.place;
    }
  } catch (error) {
    if (MeshError.from(error).code !== 'permission_denied') throw error;
    mesh.log.error({ err: error }, 'may not look for earlier runs: runs of one session may change places');
  }
  return undefined;
}

/** Returns the run of a stored command; undefined for a command that no replica can read. */
export function runIn(mesh: Mesh, item: StoredItem): Run | undefined {
  const agent = decodeToken(item.subject.split('.').at(-3) ?? '');
  try {
    const { data } = runCommandSchema.safeParse(item.json());
    return data && completeRun(data, item, agentCard(mesh, agent)?.app ?? agent);
  } catch {
    return undefined;
  }
}

function isBefore(other: Run, run: Run): boolean {
  const isOfSession = other.app === run.app && other.user === run.user && other.session === run.session;
  return isOfSession && other.hop === 0 && runName(other) !== runName(run);
}

async function hasEnded(mesh: Mesh, run: Run): Promise<boolean> {
  const { app: appName, user: userId, session: sessionId, invocationId, resume } = run;
  const record = await mesh.sessions.invocations.get({ appName, userId, sessionId, invocationId });
  return endOfRun(record, resume) !== undefined;
}

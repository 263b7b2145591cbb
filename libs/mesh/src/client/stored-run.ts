import type { StoredItem } from '@agentmesh/bus';
import { decodeToken } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { runIn } from '../runs/earlier-run.ts';
import type { Run } from '../runs/run.ts';

/** The place of a run command in the stream of runs. */
export interface StoredRun {
  subject: string;
  /** The number of the command in the stream. */
  seq: number;
}

/** Reads a stored run command. Returns undefined when there is none, or when no agent could read it. */
export async function readStoredRun(
  mesh: Mesh,
  { subject, seq }: StoredRun,
): Promise<{ run: Run; item: StoredItem } | undefined> {
  const session = decodeToken(subject.slice(subject.lastIndexOf('.') + 1));
  for await (const item of mesh.bus.earlierRuns(session, seq + 1)) {
    if (item.place !== seq || item.subject !== subject) continue;
    const run = runIn(mesh, item);
    return run && { run, item };
  }
  return undefined;
}

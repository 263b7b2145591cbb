import { rewindSession } from '@agentmesh/agent';
import { type Event, MeshError, type SessionRef } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { startNext } from '../runs/run-queue.ts';

/**
 * Rewinds a session as {@link rewindSession} does, and publishes the run that came meanwhile.
 *
 * @throws MeshError as {@link rewindSession}
 */
export async function rewind(mesh: Mesh, ref: SessionRef, rewindBeforeInvocationId: string): Promise<Event> {
  try {
    return await rewindSession(mesh.sessions, ref, rewindBeforeInvocationId);
  } finally {
    // Best effort: the sweep of an agent publishes the run too, some seconds later.
    await startNext(mesh, ref).catch((error) => {
      mesh.log.debug({ err: MeshError.from(error), ...ref }, 'could not publish the next run after a rewind');
    });
  }
}

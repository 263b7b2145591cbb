import { type InvocationRecord, type InvocationRef, noSession } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { findBackwards } from './find-event.ts';

/**
 * Asserts that the session still has what its reader has seen. A failover of Redis may lose the session or its last
 * events, and with them the end of the run: it would never come. Nor would it come in a session that was deleted and
 * made again.
 *
 * @param seen number of the last event that the reader knows
 * @param isGone true if the invocation had a record or events, and has no record now
 * @throws MeshError `not_found`
 */
export async function assertThere(
  mesh: Mesh,
  ref: InvocationRef,
  seen: number,
  isGone: boolean,
): Promise<void> {
  const { sessionId, invocationId } = ref;
  const session = await mesh.sessions.leases.look(ref);
  if (!session) throw noSession(ref);
  if (session.seq < seen) {
    throw new MeshError(
      'not_found',
      `session ${sessionId} has ${session.seq} events, and had ${seen}: the store lost the others; read the session again`,
    );
  }
  const isOfInvocation = ({ event }: { event: { invocationId: string } }) =>
    event.invocationId === invocationId;
  if (!isGone || (await findBackwards(mesh, ref, session.seq, isOfInvocation))) return;
  throw new MeshError(
    'not_found',
    `session ${sessionId} has nothing of invocation ${invocationId} any more: it was deleted and made again, or the store lost it`,
  );
}

/**
 * Tells whether the invocation has no record: it looks like a running invocation that has done nothing yet. A
 * running one has a record before its first event, so with an event it has ended, and its record has expired; or
 * its events were imported.
 */
export function isBlank({ status, home, cancelled, llmCalls }: InvocationRecord): boolean {
  return status === 'running' && home === undefined && cancelled === undefined && llmCalls === 0;
}

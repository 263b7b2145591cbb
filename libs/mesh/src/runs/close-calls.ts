import { createEvent, type PendingCall, type SessionService } from '@agentmesh/agent';
import { closingEventId, type InvocationRef } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEvent } from '../messages/publish-event.ts';
import { stampReplica } from '../messages/stamp-replica.ts';

/**
 * Closes the calls that a cancelled invocation has left open in the child sessions of its calls. Returns the
 * open calls in its own session: the event that ends a run closes them.
 *
 * @param sessions commits with the fencing token of the run
 */
export async function closeChildCalls(
  mesh: Mesh,
  ref: InvocationRef,
  sessions: SessionService,
): Promise<PendingCall[]> {
  const { appName, userId, sessionId, invocationId } = ref;
  const open = (await mesh.sessions.pending.list({ appName, userId })).filter(
    (call) => call.invocationId === invocationId,
  );
  const { own = [], child = [] } = Object.groupBy(open, (call) =>
    call.sessionId === sessionId ? 'own' : 'child',
  );
  for (const [childId, calls] of Map.groupBy(child, (call) => call.sessionId))
    await closeIn(mesh, { ...ref, sessionId: childId }, calls, sessions);
  return own;
}

/** Closes all calls that a cancelled ask has left open. */
export async function closeCalls(mesh: Mesh, ref: InvocationRef, sessions: SessionService): Promise<void> {
  const own = await closeChildCalls(mesh, ref, sessions);
  if (own.length > 0) await closeIn(mesh, ref, own, sessions);
}

async function closeIn(
  mesh: Mesh,
  ref: InvocationRef,
  calls: readonly PendingCall[],
  sessions: SessionService,
): Promise<void> {
  const session = await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });
  if (!session) return;
  const event = createEvent({
    id: closingEventId(ref, ref.sessionId),
    invocationId: ref.invocationId,
    author: calls[0]?.agent ?? '',
    errorCode: 'cancelled',
    errorMessage: 'the invocation was cancelled',
    actions: { closedCalls: calls.map(({ id }) => id) },
  });
  stampReplica(mesh)(event);
  try {
    await publishEvent(mesh, session, await sessions.appendEvent({ session, event }), {});
  } catch (error) {
    if (MeshError.from(error).code !== 'not_found') throw error;
  }
}

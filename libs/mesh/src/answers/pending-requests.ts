import type { IncomingRequest, Started } from '@agentmesh/bus';
import { type Frame, meshTime, pendingRequestSchema } from '@agentmesh/protocol';
import { type AddressedCall, addressedCall } from '../mesh/addressed-call.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { readPayload } from '../messages/read-payload.ts';
import { isAskedByCaller } from './check-message.ts';

/**
 * Lists the calls that wait for an answer from outside, in one session or in all sessions of a user, oldest
 * first.
 */
export async function pendingCalls(
  { sessions, subjects }: Pick<Mesh, 'sessions' | 'subjects'>,
  { app, user, session }: { app: string; user: string; session?: string | undefined },
): Promise<AddressedCall[]> {
  const calls = await sessions.pending.list({
    appName: app,
    userId: user,
    ...(session !== undefined && { sessionId: session }),
  });
  const now = meshTime();
  // An overdue call cannot be answered any more; the agent's service ends it soon.
  const open = calls.filter((call) => (call.deadline ?? now + 1) > now && !isAskedByCaller(call));
  return open.map((call) => addressedCall({ subjects }, { app, user }, call));
}

/** Answers requests on the pending subject: `{"app": "shop", "user": "u1"}` gets `{"pending": […]}`. */
export async function servePending(mesh: Mesh): Promise<Started> {
  return await mesh.bus.serve(mesh.subjects.pending, (request) => answer(mesh, request));
}

async function* answer(mesh: Mesh, request: IncomingRequest): AsyncGenerator<Frame, void, void> {
  const query = readPayload(pendingRequestSchema, request, 'the request for pending calls');
  yield { type: 'result', data: { pending: await pendingCalls(mesh, query) } };
}

import { MeshError, type OperationUpdate, type SessionRef } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Returns the session of a call. @throws MeshError `not_found` for an unknown call, `failed_precondition`
 * when two sessions have a call with this id
 */
export async function sessionOfCall(
  { sessions }: Mesh,
  callId: string,
  { app, user, session }: OperationUpdate,
): Promise<SessionRef> {
  if (app !== undefined && user !== undefined && session !== undefined) {
    return { appName: app, userId: user, sessionId: session };
  }
  const matches = (await sessions.pending.sessionsAsking(callId)).filter(
    (ref) =>
      (app ?? ref.appName) === ref.appName &&
      (user ?? ref.userId) === ref.userId &&
      (session ?? ref.sessionId) === ref.sessionId,
  );
  const [ref, other] = matches;
  if (!ref) throw unknownCall(callId, [app, user, session]);
  if (other) {
    throw new MeshError(
      'failed_precondition',
      `two sessions have a call ${callId}; say which by app, user and session`,
    );
  }
  return ref;
}

export function unknownCall(callId: string, place: readonly (string | undefined)[] = []): MeshError {
  const named = place.filter((each) => each !== undefined).join(', ');
  const where = named ? ` in ${named}; leave app, user and session out` : '';
  return new MeshError(
    'not_found',
    `no call ${callId} waits for an answer${where || '; publish to the operation subject of an open call'}`,
  );
}

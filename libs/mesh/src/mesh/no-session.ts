import { MeshError, type SessionRef } from '@agentmesh/protocol';

/** The error for a session that does not exist. */
export function noSession({ appName, userId, sessionId }: SessionRef): MeshError {
  return new MeshError(
    'not_found',
    `there is no session ${sessionId} of user ${userId} in app ${appName}; create it first`,
  );
}

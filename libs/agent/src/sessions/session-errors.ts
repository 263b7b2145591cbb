import { MeshError, type SessionRef } from '@agentmesh/protocol';

/** Makes the error for a session that does not exist any more, or never did. */
export function noSession({ appName, userId, sessionId }: SessionRef): MeshError {
  return new MeshError(
    'not_found',
    `there is no session ${sessionId} of user ${userId} in app ${appName}; create it first`,
  );
}

/** Makes the error for a session object that is ahead of the store. */
export function sessionReplacedError({ id }: { id: string }): MeshError {
  const why = 'it was deleted and another has its id, or the store lost its last events';
  return new MeshError('not_found', `session ${id} is not the one that was read: ${why}; read it again`);
}

/** Makes the error for a token that is not the invocation's newest. */
export function takeoverError(): MeshError {
  return new MeshError('aborted', 'another delivery of this run has taken over');
}

/** Makes the error for history that does not follow the last event. */
export function historyGapError({ sessionId }: SessionRef, afterSeq: number, seq: number): MeshError {
  return new MeshError(
    'failed_precondition',
    `session ${sessionId} has ${seq} events, but the history follows event ${afterSeq}; read the session again`,
  );
}

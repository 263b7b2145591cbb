import type { SessionService } from '@agentmesh/agent';
import { getOrCreateSession, overrideSessions } from '@agentmesh/agent/internal';
import { removeLeftFiles } from '../artifacts/left-files.ts';
import { deleteSession, type KeptBeside } from './delete-session.ts';

/**
 * Returns the sessions of a store with the data that the mesh keeps beside them: the deletion of a session
 * also deletes its files, the results of its calls and the records of its jobs, and a new session has no
 * files of an earlier session with the same id. The files of the user stay.
 */
export function meshSessions(sessions: SessionService, kept: KeptBeside): SessionService {
  const own: SessionService = overrideSessions(sessions, {
    /**
     * Must come before the session exists, so that no reader sees files of an earlier session. If the process
     * dies in between, no session was created.
     */
    async createSession(request) {
      const { sessionId, isNewId = false } = request;
      if (sessionId !== undefined && !isNewId)
        await removeLeftFiles(sessions, kept.artifacts, { ...request, sessionId });
      return await sessions.createSession(request);
    },
    getOrCreateSession: (request) => getOrCreateSession(own, request),
    deleteSession: (ref, options = {}) => deleteSession({ sessions, kept, ref, options }),
  });
  return own;
}

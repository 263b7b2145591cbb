import type { SessionService } from '@agentmesh/agent';
import { getOrCreateSession, overrideSessions } from '@agentmesh/agent/internal';
import { removeLeftFiles } from '../artifacts/left-files.ts';
import { deleteSession, type KeptBeside } from './delete-session.ts';

/**
 * The sessions of a store as a mesh has them: each takes its files, the results of its calls and the records of its jobs with it when it is deleted, and
 * finds no files of another one that had its id. The files of the user stay.
 */
export function meshSessions(sessions: SessionService, kept: KeptBeside): SessionService {
  const own: SessionService = overrideSessions(sessions, {
    /** Before the session is there, so that nobody ever sees what is left of another one; whoever dies between has made none. */
    async createSession(request) {
      const { sessionId } = request;
      if (sessionId !== undefined) await removeLeftFiles(sessions, kept.artifacts, { ...request, sessionId });
      return await sessions.createSession(request);
    },
    getOrCreateSession: (request) => getOrCreateSession(own, request),
    deleteSession: (ref, options = {}) => deleteSession({ sessions, kept, ref, options }),
  });
  return own;
}

import type { ArtifactService } from '../artifacts/artifact-service.ts';
import type { InvocationContext } from '../base/invocation-context.ts';

/**
 * Makes the artifact service for an agent that works for a caller in a child session: the service uses the
 * files of the caller's session.
 */
export function forwardArtifacts({
  artifactService,
  session,
}: Pick<InvocationContext, 'artifactService' | 'session'>): ArtifactService | undefined {
  // A nested agent uses the files of the first caller.
  return artifactService?.sessionId === undefined
    ? artifactService && artifactsOfSession(artifactService, session.id)
    : artifactService;
}

/** Makes an artifact service that always uses the files of one session, whatever session a request names. */
export function artifactsOfSession(artifacts: ArtifactService, sessionId: string): ArtifactService {
  return {
    sessionId,
    saveArtifact: (r) => artifacts.saveArtifact({ ...r, sessionId }),
    loadArtifact: (r) => artifacts.loadArtifact({ ...r, sessionId }),
    listArtifactKeys: (r) => artifacts.listArtifactKeys({ ...r, sessionId }),
    deleteArtifact: (r) => artifacts.deleteArtifact({ ...r, sessionId }),
    listVersions: (r) => artifacts.listVersions({ ...r, sessionId }),
    listArtifactVersions: (r) => artifacts.listArtifactVersions({ ...r, sessionId }),
    getArtifactVersion: (r) => artifacts.getArtifactVersion({ ...r, sessionId }),
    saveArtifactStream: (r) => artifacts.saveArtifactStream({ ...r, sessionId }),
    loadArtifactStream: (r) => artifacts.loadArtifactStream({ ...r, sessionId }),
    // A request without a session concerns all files of the user.
    deleteAll: (r) => artifacts.deleteAll(r.sessionId === undefined ? r : { ...r, sessionId }),
    listUserArtifacts: (r) => artifacts.listUserArtifacts(r),
  };
}

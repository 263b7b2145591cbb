import type { ArtifactService } from '../artifacts/artifact-service.ts';
import type { InvocationContext } from '../base/invocation-context.ts';

/** The files of the caller's session, for an agent that works for it in a session of its own. */
export function forwardArtifacts({
  artifactService,
  session,
}: Pick<InvocationContext, 'artifactService' | 'session'>): ArtifactService | undefined {
  // Deeper down it is still the first caller's.
  return artifactService?.sessionId === undefined
    ? artifactService && artifactsOfSession(artifactService, session.id)
    : artifactService;
}

/** The same files, whatever session they are asked for in. */
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
    // A user is not a session: who means all of one gets all of one.
    deleteAll: (r) => artifacts.deleteAll(r.sessionId === undefined ? r : { ...r, sessionId }),
    listUserArtifacts: (r) => artifacts.listUserArtifacts(r),
  };
}

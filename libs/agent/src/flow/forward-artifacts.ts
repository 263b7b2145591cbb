import type { ArtifactService } from '../artifacts/artifact-service.ts';
import type { InvocationContext } from '../invocation-context.ts';

/** The files of the caller's session, for an agent that works for it in a session of its own. */
export function forwardArtifacts({
  artifactService,
  session,
}: InvocationContext): ArtifactService | undefined {
  if (!artifactService) return undefined;
  const sessionId = session.id;
  return {
    saveArtifact: (r) => artifactService.saveArtifact({ ...r, sessionId }),
    loadArtifact: (r) => artifactService.loadArtifact({ ...r, sessionId }),
    listArtifactKeys: (r) => artifactService.listArtifactKeys({ ...r, sessionId }),
    deleteArtifact: (r) => artifactService.deleteArtifact({ ...r, sessionId }),
    listVersions: (r) => artifactService.listVersions({ ...r, sessionId }),
  };
}

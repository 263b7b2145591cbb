import type { ArtifactService, SessionService } from '@agentmesh/agent';
import { MeshArtifactService } from './mesh-artifact-service.ts';
import { MeshKeeperArtifacts } from './mesh-keeper-artifacts.ts';
import { MeshNoArtifacts } from './mesh-no-artifacts.ts';

/**
 * Removes the files that an expired session left: nothing deletes the files of a session that expires. The
 * files are read before the session is found missing, so files of a new session with the same id are not
 * removed.
 */
export async function removeLeftFiles(
  sessions: SessionService,
  artifacts: ArtifactService,
  { appName, userId, sessionId }: { appName: string; userId: string; sessionId: string },
): Promise<void> {
  // A gateway sweeps the files of expired sessions.
  if (artifacts instanceof MeshNoArtifacts || artifacts instanceof MeshKeeperArtifacts) return;
  const ref = { appName, userId, sessionId };
  const oldFiles = await filesNow(artifacts, ref);
  if (oldFiles && !(await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } })))
    await oldFiles.remove();
}

async function filesNow(
  artifacts: ArtifactService,
  ref: { appName: string; userId: string; sessionId: string },
): Promise<{ remove(): Promise<unknown> } | undefined> {
  if (artifacts instanceof MeshArtifactService) return await artifacts.filesNow(ref);
  const names = (await artifacts.listArtifactKeys(ref)).filter((name) => !name.startsWith('user:'));
  return names.length === 0 ? undefined : { remove: () => artifacts.deleteAll(ref) };
}

import type { ArtifactService, SessionService } from '@agentmesh/agent';
import { MeshArtifactService } from './mesh-artifact-service.ts';

/**
 * Removes the files that a session left which had expired: nobody told its files. Looks at the files first: what was there before the session was found missing is nobody's, whoever makes
 * one of this id at the same time.
 */
export async function removeLeftFiles(
  sessions: SessionService,
  artifacts: ArtifactService,
  { appName, userId, sessionId }: { appName: string; userId: string; sessionId: string },
): Promise<void> {
  const ref = { appName, userId, sessionId };
  const left = await filesNow(artifacts, ref);
  if (left && !(await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } }))) await left.remove();
}

async function filesNow(
  artifacts: ArtifactService,
  ref: { appName: string; userId: string; sessionId: string },
): Promise<{ remove(): Promise<unknown> } | undefined> {
  if (artifacts instanceof MeshArtifactService) return await artifacts.filesNow(ref);
  const names = (await artifacts.listArtifactKeys(ref)).filter((name) => !name.startsWith('user:'));
  return names.length === 0 ? undefined : { remove: () => artifacts.deleteAll(ref) };
}

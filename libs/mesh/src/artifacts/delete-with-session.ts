import type { ArtifactService, SessionService } from '@agentmesh/agent';
import { MeshArtifactService } from './mesh-artifact-service.ts';

/**
 * The same sessions, each of which takes its files with it when it is deleted, and finds none of another one that had its id; those of the user stay.
 */
export function deletingArtifacts(sessions: SessionService, artifacts: ArtifactService): SessionService {
  const own: Pick<SessionService, 'createSession' | 'deleteSession'> = {
    /** Before the session is there, so that nobody ever sees what is left of another one; whoever dies between has made none. */
    async createSession(request) {
      if (request.sessionId !== undefined)
        await removeLeft(sessions, artifacts, { ...request, sessionId: request.sessionId });
      return await sessions.createSession(request);
    },

    /**
     * The files go first: whoever dies between leaves a session that can be deleted again. And once more afterwards, for what a tool saved meanwhile.
     */
    async deleteSession(ref, options) {
      const { appName, userId, sessionId } = ref;
      const before = await artifacts.deleteAll({ appName, userId, sessionId });
      await sessions.deleteSession(ref, options);
      const after = await artifacts.deleteAll({ appName, userId, sessionId });
      options?.onDeleted?.('artifacts', before + after);
    },
  };
  return new Proxy(sessions, {
    get(target, name) {
      if (name === 'createSession' || name === 'deleteSession') return own[name];
      const value: unknown = Reflect.get(target, name);
      // Its private fields are the target's.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/**
 * Sessions expire without a word to their files. Looks at the files first: what was there before the session was found missing is nobody's, whoever makes
 * one of this id at the same time.
 */
async function removeLeft(
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

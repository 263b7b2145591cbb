import type { ArtifactService, SessionService } from '@agentmesh/agent';

/**
 * The same sessions, each of which takes its files with it when it is deleted; those of the user stay. The files go first: whoever dies between leaves a
 * session that can be deleted again. And once more afterwards, for what a tool saved meanwhile.
 */
export function deletingArtifacts(sessions: SessionService, artifacts: ArtifactService): SessionService {
  return new Proxy(sessions, {
    get(target, name) {
      if (name === 'deleteSession') {
        return async (ref: Parameters<SessionService['deleteSession']>[0]) => {
          const { appName, userId, sessionId } = ref;
          await artifacts.deleteAll({ appName, userId, sessionId });
          await target.deleteSession(ref);
          await artifacts.deleteAll({ appName, userId, sessionId });
        };
      }
      const value: unknown = Reflect.get(target, name);
      // Its private fields are the target's.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

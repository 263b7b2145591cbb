import type { ArtifactService, SessionService } from '@agentmesh/agent';

/**
 * The same sessions, each of which takes its files with it when it is deleted; those of the user stay. The files go first: whoever dies between leaves a
 * session that can be deleted again. And once more afterwards, for what a tool saved meanwhile.
 */
export function deletingArtifacts(sessions: SessionService, artifacts: ArtifactService): SessionService {
  return new Proxy(sessions, {
    get(target, name) {
      if (name === 'deleteSession') {
        return async (...[ref, options]: Parameters<SessionService['deleteSession']>) => {
          const { appName, userId, sessionId } = ref;
          const before = await artifacts.deleteAll({ appName, userId, sessionId });
          await target.deleteSession(ref, options);
          const after = await artifacts.deleteAll({ appName, userId, sessionId });
          options?.onDeleted?.('artifacts', before + after);
        };
      }
      const value: unknown = Reflect.get(target, name);
      // Its private fields are the target's.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

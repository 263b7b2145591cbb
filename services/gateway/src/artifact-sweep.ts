import { type Mesh, MeshArtifactService } from '@agentmesh/mesh';
import type { Logger } from '@agentmesh/service';

/**
 * Average time between two sweeps, in ms. The times are random, so that gateways do not all sweep at once.
 */
const sweepMs = 3_600_000;

/**
 * Starts the periodic sweep of artifacts: it removes the bytes whose writer died before they had a name, and
 * the files of expired sessions.
 */
export function startArtifactSweep({ artifacts, sessions }: Mesh, log: Logger): Disposable {
  if (!(artifacts instanceof MeshArtifactService)) return { [Symbol.dispose]() {} };
  const sweep = async () => {
    try {
      const removed = await artifacts.sweep({
        isGone: async (ref) => !(await sessions.users.hasSession(ref)),
      });
      if (removed > 0) log.info({ removed }, 'removed leftover artifacts');
    } catch (error) {
      log.warn({ err: error }, 'could not sweep artifacts; it will be tried again');
    }
    timer = next();
  };
  const next = () => setTimeout(sweep, sweepMs * (0.5 + Math.random())).unref();
  let timer = next();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

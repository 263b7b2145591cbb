import { type Mesh, MeshArtifactService } from '@agentmesh/mesh';
import type { Logger } from '@agentmesh/service';

/** How often what dead processes left is looked for, in ms; on average, as gateways do not all look at the same time. */
const sweepMs = 3_600_000;

/** Removes, now and then, the bytes of artifacts whose writer died before anybody could see them, and the files of sessions that expired. */
export function startArtifactSweep({ artifacts, sessions }: Mesh, log: Logger): Disposable {
  if (!(artifacts instanceof MeshArtifactService)) return { [Symbol.dispose]() {} };
  const look = async () => {
    try {
      const removed = await artifacts.sweep({
        isGone: async (ref) =>
          (await sessions.getSession({ ...ref, config: { numRecentEvents: 0 } })) === undefined,
      });
      if (removed > 0) log.info({ removed }, 'removed what was left of artifacts');
    } catch (error) {
      log.warn({ err: error }, 'could not look for what is left of artifacts; it will be tried again');
    }
    timer = next();
  };
  const next = () => setTimeout(look, sweepMs * (0.5 + Math.random())).unref();
  let timer = next();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

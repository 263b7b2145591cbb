import type { MeshObserver } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../../context/context.ts';

/** Returns the view of the mesh: that of NATS, or of the services in this process. */
export async function observerOf({
  observer,
  mesh,
}: GatewayContext): Promise<Omit<MeshObserver, keyof AsyncDisposable>> {
  return observer ? await observer() : viewOfProcess(mesh);
}

/**
 * Returns the view of a mesh in one process. Its queues lie in memory, and it keeps no dead letters: they end with the
 * process.
 */
function viewOfProcess({ bus, subjects }: GatewayContext['mesh']): Omit<MeshObserver, keyof AsyncDisposable> {
  const absent = async (seq: number): Promise<never> => {
    throw new MeshError('not_found', `there is no dead letter ${seq}: a mesh in one process keeps none`);
  };
  return {
    replicas: async (service) =>
      (await bus.isServed(subjects.shownAs(service))) ? [{ replica: bus.replica }] : [],
    queues: async () => [],
    deadLetters: { list: async () => [], count: async () => 0, get: absent, remove: absent },
  };
}

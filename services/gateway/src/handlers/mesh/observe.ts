import type { MeshObserver } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../../context/context.ts';

/** Returns the view of the mesh. @throws MeshError `failed_precondition` in a gateway without one */
export async function observerOf({ observer }: GatewayContext): Promise<MeshObserver> {
  if (observer) return await observer();
  throw new MeshError(
    'failed_precondition',
    'this gateway has no view of the mesh; start it by its own program, which connects it to NATS',
  );
}

import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** Where a remote agent or tool gets its mesh from: agents are defined before there is a connection. */
export interface MeshBinding {
  set(mesh: Mesh): void;
  maybe(): Mesh | undefined;
  /** @throws MeshError `failed_precondition` before it was bound. */
  get(): Mesh;
}

export function meshBinding(what: string): MeshBinding {
  let bound: Mesh | undefined;
  return {
    set(mesh) {
      bound = mesh;
    },
    maybe: () => bound,
    get() {
      if (bound) return bound;
      throw new MeshError(
        'failed_precondition',
        `${what} runs elsewhere and is not connected: serve the agent that uses it (serveAgent), or call bindRemotes(agent, mesh)`,
      );
    },
  };
}

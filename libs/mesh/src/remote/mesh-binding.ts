import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** Gives a remote agent or tool its mesh: agents are defined before there is a connection. */
export interface MeshBinding {
  set(mesh: Mesh): void;
  maybe(): Mesh | undefined;
  /** Returns the mesh. @throws MeshError `failed_precondition` before `set` */
  get(): Mesh;
}

export function meshBinding(what: string): MeshBinding {
  let mesh: Mesh | undefined;
  return {
    set(connected) {
      mesh = connected;
    },
    maybe: () => mesh,
    get() {
      if (mesh) return mesh;
      throw new MeshError(
        'failed_precondition',
        `${what} runs elsewhere and is not connected: serve the agent that uses it (serveAgent), or call bindRemotes(agent, mesh)`,
      );
    },
  };
}

import { type Event, replicaKey } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** Notes on each event which process made it. */
export function stampReplica({ bus }: Mesh): (event: Event) => void {
  return (event) => {
    // An event of a step elsewhere bears the mark of its own process.
    if (event.author === 'user' || event.customMetadata?.[replicaKey] !== undefined) return;
    event.customMetadata = { ...event.customMetadata, [replicaKey]: bus.replica };
  };
}

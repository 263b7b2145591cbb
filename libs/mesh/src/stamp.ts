import { type Event, replicaKey } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** Notes on each event which process made it. */
export function stampReplica({ bus }: Mesh): (event: Event) => void {
  return (event) => {
    if (event.author === 'user') return;
    event.customMetadata = { ...event.customMetadata, [replicaKey]: bus.replica };
  };
}

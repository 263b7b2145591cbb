import { type Event, replicaKey } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { countModelCall } from '../mesh/metrics.ts';

/** Returns a function that notes on each event which process made it, and counts the model calls of this process. */
export function stampReplica({ bus }: Mesh): (event: Event) => void {
  return (event) => {
    // The process of a remote step has noted itself on the step's events already.
    if (event.author === 'user' || event.customMetadata?.[replicaKey] !== undefined) return;
    event.customMetadata = { ...event.customMetadata, [replicaKey]: bus.replica };
    if (event.usageMetadata && !event.partial) countModelCall(event);
  };
}

import { type Event, replicaKey, traceKey } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { countModelCall } from '../mesh/metrics.ts';

/**
 * Returns a function that notes on each event which process and which span made it, and counts the model calls of this
 * process.
 *
 * @param span the span of the work; without it the events name no span
 */
export function stampReplica({ bus, priceOf }: Mesh, span?: { traceparent: string }): (event: Event) => void {
  const trace = span && { [traceKey]: span.traceparent };
  return (event) => {
    // The process of a remote step has noted itself on the step's events already.
    if (event.author === 'user' || event.customMetadata?.[replicaKey] !== undefined) return;
    event.customMetadata = { ...event.customMetadata, [replicaKey]: bus.replica, ...trace };
    if (event.usageMetadata && !event.partial) countModelCall(event, priceOf);
  };
}

import {
  type AttemptMark,
  attemptKey,
  type Event,
  replicaKey,
  traceKey,
  versionKey,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { countModelCall } from '../mesh/metrics.ts';

/** The things that are noted on an event beside the process. */
interface Stamp {
  /** The span of the work. */
  span?: { traceparent: string } | undefined;
  /** The version of the agent. */
  version?: string | undefined;
  /** The attempt, for its first event. */
  attempt?: AttemptMark | undefined;
}

/**
 * Returns a function that notes on each event which process, version and span made it, and counts the model calls of this
 * process.
 *
 * @param stamp without a span, or a version, the events name none
 */
export function stampReplica(
  { bus, priceOf }: Mesh,
  { span, version, attempt }: Stamp = {},
): (event: Event) => void {
  const more = {
    ...(version !== undefined && { [versionKey]: version }),
    ...(span && { [traceKey]: span.traceparent }),
  };
  let mark = attempt && (attempt.number > 1 || attempt.waitsSince !== undefined) ? attempt : undefined;
  return (event) => {
    // The process of a remote step has noted itself on the step's events already.
    if (event.author === 'user' || event.customMetadata?.[replicaKey] !== undefined) return;
    event.customMetadata = { ...event.customMetadata, [replicaKey]: bus.replica, ...more };
    if (mark) event.customMetadata[attemptKey] = mark;
    // The pieces of an event are not kept.
    if (!event.partial) mark = undefined;
    if (event.usageMetadata && !event.partial) countModelCall(event, priceOf);
  };
}

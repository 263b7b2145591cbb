import type { Event } from '@agentmesh/protocol';

/** Key in `customMetadata`. Its value maps call ids to the deadlines of their answers, in epoch ms. */
const deadlinesKey = 'mesh:deadlines';

/** Returns the deadline for the answer to a call of this event, in epoch ms; undefined for no limit. */
export function deadlineOfCall({ customMetadata }: Event, callId: string): number | undefined {
  const deadlines = customMetadata?.[deadlinesKey];
  if (typeof deadlines !== 'object' || deadlines === null) return undefined;
  const deadline: unknown = Object.hasOwn(deadlines, callId) ? Reflect.get(deadlines, callId) : undefined;
  return typeof deadline === 'number' ? deadline : undefined;
}

/** Writes the deadlines for the answers to an event's calls into the event. */
export function setDeadlines(event: Event, deadlines: ReadonlyMap<string, number>): void {
  if (deadlines.size === 0) return;
  event.customMetadata = { ...event.customMetadata, [deadlinesKey]: Object.fromEntries(deadlines) };
}

/** Makes the response to a call that nobody answered in time. */
export function deadlinePassed({
  kind,
  deadline = 0,
}: {
  kind: string;
  /** In epoch ms. */
  deadline?: number;
}): Record<string, unknown> {
  return {
    ...(kind === 'confirmation' && { confirmed: false }),
    expired: true,
    error: `nobody answered before ${new Date(deadline).toISOString()}`,
  };
}

/** Tells whether a response was made by {@link deadlinePassed}. */
export function isExpired(response: unknown): response is { expired: true; error?: string } {
  return (
    typeof response === 'object' && response !== null && 'expired' in response && response.expired === true
  );
}

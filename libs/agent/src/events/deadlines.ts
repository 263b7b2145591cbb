import type { Event } from '@agentmesh/protocol';

/** Key in `customMetadata`: call id → until when its answer is waited for, epoch ms. */
const deadlinesKey = 'mesh:deadlines';

/** Until when an answer to a call of this event is waited for, epoch ms; undefined for ever. */
export function deadlineOfCall({ customMetadata }: Event, callId: string): number | undefined {
  const deadlines = customMetadata?.[deadlinesKey];
  if (typeof deadlines !== 'object' || deadlines === null) return undefined;
  const deadline: unknown = Object.hasOwn(deadlines, callId) ? Reflect.get(deadlines, callId) : undefined;
  return typeof deadline === 'number' ? deadline : undefined;
}

/** Notes until when the answers to calls of an event are waited for. */
export function setDeadlines(event: Event, deadlines: ReadonlyMap<string, number>): void {
  if (deadlines.size === 0) return;
  event.customMetadata = { ...event.customMetadata, [deadlinesKey]: Object.fromEntries(deadlines) };
}

/** What takes the place of the answer to a call that nobody answered in time. */
export function deadlinePassed({
  kind,
  deadline = 0,
}: {
  kind: string;
  /** Epoch ms. */
  deadline?: number;
}): Record<string, unknown> {
  return {
    ...(kind === 'confirmation' && { confirmed: false }),
    expired: true,
    error: `nobody answered before ${new Date(deadline).toISOString()}`,
  };
}

/** Is it what {@link deadlinePassed} says? */
export function isExpired(response: unknown): response is { expired: true; error?: string } {
  return (
    typeof response === 'object' && response !== null && 'expired' in response && response.expired === true
  );
}

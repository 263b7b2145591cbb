import type { Event } from '@agentmesh/protocol';

/** Key in `customMetadata` of a forwarded event: the id of the call that runs the agent. */
export const withinCallKey = 'mesh:withinCall';

/**
 * Forwards the events of an agent to the watchers of its caller. For the watchers all these events are
 * partial, because they are committed in another session. Text that was streamed is not shown again as a
 * whole.
 */
export function forwardEvents(callId: string, observe: (event: Event) => void): (event: Event) => void {
  let streamed = false;
  return (event) => {
    if (event.author === 'user') return;
    const parts = (event.content?.parts ?? []).filter(
      ({ text }) => event.partial || !streamed || text === undefined,
    );
    streamed = event.partial === true;
    if (parts.length === 0 && event.errorCode === undefined) return;
    observe({
      ...event,
      ...(parts.length > 0 && { content: { ...event.content, parts } }),
      partial: true,
      customMetadata: { [withinCallKey]: callId, ...event.customMetadata },
    });
  };
}

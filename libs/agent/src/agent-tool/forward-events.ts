import type { Event } from '@agentmesh/protocol';

/** Key in `customMetadata` of a forwarded event: the id of the call within which it happened. */
export const withinCallKey = 'mesh:withinCall';

/**
 * Shows those who watch the caller what an agent does for it. To them all is partial: it is committed in another session. Words that were
 * streamed are not shown again as a whole.
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

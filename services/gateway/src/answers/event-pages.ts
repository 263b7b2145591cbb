import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** The most events of a page, and their characters together; one event may have more. */
const page = { limit: 200, maxChars: 524_288 };

/** Reads the events of a session after the number `after` up to the number `last`, in pages, and makes a text of each. */
export function* eventPages(
  { mesh }: GatewayContext,
  ref: SessionRef,
  { after, last }: { after: number; last: number },
  textOf: (page: readonly StoredEvent[]) => string,
): Generator<() => Promise<string>, void, void> {
  for (let at = after; at < last; ) {
    yield async () => {
      const range = { afterSeq: at, limit: Math.min(page.limit, last - at), maxChars: page.maxChars };
      const events = await mesh.sessions.log.readEvents({ ...ref, ...range });
      at = events.at(-1)?.seq ?? last;
      return textOf(events);
    };
  }
}

/** Returns a function that joins lists of JSON texts to one list, without its brackets. */
export function listJoiner(): (values: readonly unknown[]) => string {
  let separator = '';
  return (values) => {
    if (values.length === 0) return '';
    const text = separator + JSON.stringify(values).slice(1, -1);
    separator = ',';
    return text;
  };
}

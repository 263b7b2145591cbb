import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';
import type { Parts } from '../context/large-answers.ts';
import { PageSize } from './page-size.ts';

/**
 * Reads the events of a session after the number `after` up to the number `last`, in pages, and makes a text of each
 * page. An event may be large, so the first page is small, and the next one as large as the bytes of the page before
 * allow.
 */
export function* eventPages(
  { mesh }: GatewayContext,
  ref: SessionRef,
  { after, last }: { after: number; last: number },
  textOf: (page: readonly StoredEvent[]) => string,
): Parts {
  const size = new PageSize({ first: 10, most: 200 });
  for (let at = after; at < last; ) {
    yield async () => {
      const limit = Math.min(size.next, last - at);
      const page = await mesh.sessions.log.readEvents({ ...ref, afterSeq: at, limit });
      at = page.at(-1)?.seq ?? last;
      const text = textOf(page.filter(({ seq }) => seq <= last));
      size.note(limit, text.length);
      return text;
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

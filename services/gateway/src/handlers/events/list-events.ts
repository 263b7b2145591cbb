import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { eventPages, listJoiner } from '../../answers/event-pages.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Parts } from '../../context/large-answers.ts';
import type { Handler } from '../../context/route.ts';
import { pageSize, position, readQuery, readSession } from '../../params/params.ts';
import { requireLog } from '../../params/require-session.ts';

export const listEventsQuery = { after: position.default(0), limit: pageSize.default(100) };

/**
 * Answers with a page of the session's log: committed events with their numbers, and the number of the
 * session's last event.
 */
export const listEvents: Handler = async (context, request, reply) => {
  const { after, limit } = readQuery(listEventsQuery, request);
  const ref = await readSession(context, request);
  const { seq: lastSeq } = await requireLog(context, ref);
  return await context.large.sendJson(request, reply, () =>
    pageParts(context, ref, { after, limit, lastSeq }),
  );
};

function* pageParts(
  context: GatewayContext,
  ref: SessionRef,
  { after, limit, lastSeq }: { after: number; limit: number; lastSeq: number },
): Parts {
  let left = limit;
  const join = listJoiner();
  const textOf = (page: readonly StoredEvent[]) => {
    const sent = page.slice(0, left);
    left -= sent.length;
    return join(sent.map(({ seq, event }) => ({ seq, event })));
  };
  yield async () => `{"lastSeq":${lastSeq},"events":[`;
  for (const part of eventPages(context, ref, { after, last: lastSeq }, textOf)) {
    yield part;
    if (left === 0) break;
  }
  yield async () => ']}';
}

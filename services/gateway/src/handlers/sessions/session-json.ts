import type { GetSessionConfig, Session } from '@agentmesh/agent';
import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { eventPages, listJoiner } from '../../answers/event-pages.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Parts } from '../../context/large-answers.ts';
import type { HandlerContext } from '../../context/route.ts';
import { requireSession } from '../../params/require-session.ts';

/**
 * Returns a session in the form of ADK's clients: `lastUpdateTime` in seconds, as ADK for Python answers and
 * ADK's web UI expects.
 */
export function sessionJson({ id, appName, userId, state, events, lastUpdateTime }: Session) {
  return { id, appName, userId, state, events, lastUpdateTime: lastUpdateTime / 1_000 };
}

/** Answers with a session and the events that `config` selects; a long log is read and sent page by page. */
export function sendSession(
  context: HandlerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  ref: SessionRef,
  config: GetSessionConfig = {},
): Promise<FastifyReply> {
  return context.large.sendJson(request, reply, () => sessionParts(context, ref, config));
}

function* sessionParts(
  context: GatewayContext,
  ref: SessionRef,
  { numRecentEvents, afterTimestamp, afterSeq = 0 }: GetSessionConfig,
): Parts {
  // Authors set the timestamps, in no order, so all events are looked at.
  const byTime = afterTimestamp !== undefined;
  let [after, last] = [afterSeq, 0];
  yield async () => {
    const session = await requireSession(context, ref, { numRecentEvents: 0 });
    last = session.seq;
    if (!byTime) after = Math.max(afterSeq, last - (numRecentEvents ?? last));
    const { events: _events, ...head } = sessionJson(session);
    return `${JSON.stringify(head).slice(0, -1)},"events":[`;
  };
  const wantedIn = (page: readonly StoredEvent[]) =>
    page.map(({ event }) => event).filter(({ timestamp }) => !byTime || timestamp >= afterTimestamp);
  let left = 0;
  if (byTime && numRecentEvents !== undefined) {
    yield* eventPages(context, ref, { after, last }, (page) => {
      left += wantedIn(page).length;
      return '';
    });
    left = Math.max(0, left - numRecentEvents);
  }
  const join = listJoiner();
  yield* eventPages(context, ref, { after, last }, (page) => {
    const wanted = wantedIn(page);
    const sent = wanted.slice(left);
    left = Math.max(0, left - wanted.length);
    return join(sent);
  });
  yield async () => ']}';
}

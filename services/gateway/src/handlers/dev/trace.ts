import { rootOf } from '@agentmesh/mesh';
import { type Event, MeshError, parse, type SessionRef } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { assertMayActFor } from '../../access/check-access.ts';
import { PageSize } from '../../answers/page-size.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler, HandlerContext } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';
import { type Span, spansOf } from './spans.ts';

/** The largest number of events of which spans are made: a long past must not make a turn expensive. */
const mostEvents = 1_000;
/** Size of the events from which no earlier ones are read, in bytes. */
const mostBytes = 8 * 1024 * 1024;

const text = z.string().min(1).optional();
const params = z.object({ app: text, session: text, '*': text });
export const traceQuery = { appName: text, userId: text, sessionId: text };

/** Answers with the spans of a session, made from its log; none for a session that does not exist. */
export const sessionTrace: Handler = async (context, request) => await spansIn(context, request);

/** Answers with the attributes of the span that ends with an event: a model call or tool calls. */
export const eventTrace: Handler = async (context, request) => {
  const { '*': eventId } = parse(params, request.params, 'the path');
  const spans = await spansIn(context, request);
  const span = spans.find(({ attributes }) => attributes['gcp.vertex.agent.event_id'] === eventId);
  if (span) return { ...span.attributes, trace_id: span.trace_id, span_id: span.span_id };
  throw new MeshError('not_found', `no model call and no tool call ended with event ${eventId}`);
};

async function spansIn(context: HandlerContext, request: FastifyRequest): Promise<Span[]> {
  const ref = readTraced(request);
  await rootOf(context.mesh, ref.appName);
  return await context.large.read(request, async () => spansOf(ref, await lastEvents(context, ref)));
}

/** Reads the last events of a session, from the end, as far as they are few and small enough. */
async function lastEvents({ mesh }: GatewayContext, ref: SessionRef): Promise<Event[]> {
  const session = await mesh.sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });
  const size = new PageSize({ first: 2, most: 200 });
  let events: Event[] = [];
  let bytes = 0;
  for (let end = session?.seq ?? 0; end > 0 && events.length < mostEvents && bytes < mostBytes; ) {
    const limit = Math.min(size.next, end, mostEvents - events.length);
    const page = await mesh.sessions.log.readEvents({ ...ref, afterSeq: end - limit, limit });
    const length = JSON.stringify(page).length;
    events = [...page.filter(({ seq }) => seq <= end).map(({ event }) => event), ...events];
    bytes += length;
    size.note(limit, length);
    end -= limit;
  }
  return events;
}

/**
 * Reads the session of a trace. ADK's addresses of traces have no user, because ADK's server keeps spans by
 * the session alone. The user comes from the query, or from the address of the page of ADK's web UI that
 * sends the request.
 */
function readTraced(request: FastifyRequest): SessionRef {
  const path = parse(params, request.params, 'the path');
  const asked = readQuery(traceQuery, request);
  const page = pageOf(request.headers.referer);
  const appName = path.app ?? asked.appName ?? page.get('app');
  const userId = asked.userId ?? page.get('userId');
  const sessionId = path.session ?? asked.sessionId ?? page.get('session');
  if (appName && userId && sessionId) {
    assertMayActFor(request, appName, userId);
    return { appName, userId, sessionId };
  }
  throw new MeshError(
    'invalid_argument',
    'spans belong to a session of a user: add what the path does not name of ?app_name=, ?user_id= and ?session_id=',
  );
}

/** Returns the query of a page's address. */
function pageOf(address: string | undefined): URLSearchParams {
  return new URLSearchParams(URL.parse(address ?? '')?.search);
}

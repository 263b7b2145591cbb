import type { StoredEvent } from '@agentmesh/agent/internal';
import { agentCards, rootOf } from '@agentmesh/mesh';
import { type Event, MeshError, parse, type SessionRef } from '@agentmesh/protocol';
import { z } from 'zod';
import { eventPages } from '../../answers/event-pages.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { readSession } from '../../params/params.ts';
import { requireLog } from '../../params/require-session.ts';
import { agentGraph } from './agent-graph.ts';

const params = z.object({ '*': z.string() });
const suffix = '/graph';

/**
 * Answers with the app's agents and tools as a Graphviz graph, with the parts of the event in another colour;
 * `{}` for an event that the session does not have. An event's id may contain slashes, which ADK's page does
 * not encode: the id is all text before `/graph`.
 */
export const eventGraph: Handler = async (context, request) => {
  const { '*': rest } = parse(params, request.params, 'the path');
  if (!rest.endsWith(suffix)) {
    throw new MeshError('not_found', 'an event has only a graph: …/events/<event id>/graph');
  }
  const ref = await readSession(context, request);
  const event = await context.large.read(request, () =>
    findEvent(context, ref, rest.slice(0, -suffix.length)),
  );
  if (!event) return {};
  return { dotSrc: agentGraph(await rootOf(context.mesh, ref.appName), agentCards(context.mesh), event) };
};

/** Searches an event in the log, from its beginning. @throws MeshError `not_found` for an unknown session */
async function findEvent(context: GatewayContext, ref: SessionRef, id: string): Promise<Event | undefined> {
  const { seq: last } = await requireLog(context, ref);
  let found: Event | undefined;
  const look = (page: readonly StoredEvent[]) => {
    found = page.find(({ event }) => event.id === id)?.event;
    return '';
  };
  for (const read of eventPages(context, ref, { after: 0, last }, look)) {
    await read();
    if (found) break;
  }
  return found;
}

import { agentCards, rootOf } from '@agentmesh/mesh';
import { MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { readSession } from '../../params/params.ts';
import { requireSession } from '../../params/require-session.ts';
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
  const { events } = await requireSession(context, ref);
  const event = events.find(({ id }) => id === rest.slice(0, -suffix.length));
  if (!event) return {};
  return { dotSrc: agentGraph(await rootOf(context.mesh, ref.appName), agentCards(context.mesh), event) };
};

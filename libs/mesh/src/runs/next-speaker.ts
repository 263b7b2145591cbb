import { getFunctionCalls } from '@agentmesh/agent';
import { logIndex, noSession, noteUnread, pathOf } from '@agentmesh/agent/internal';
import {
  type AgentCard,
  type Event,
  isReplicaOf,
  messageSchema,
  parse,
  replicaKey,
  type SessionRef,
} from '@agentmesh/protocol';
import { askedFor } from '../answers/check-message.ts';
import { agentCard, agentCards } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { rootOf } from '../mesh/root-agent.ts';
import { serviceName } from '../mesh/service-name.ts';
import { readLog } from '../messages/read-log.ts';

/** Number of events in which the last speaker is looked for first. */
const recentEvents = 20;
/** Number of older events that are then read at a time. */
const pageSize = 200;
/** Size from which events are looked at as outlines, in characters. */
const outlineAbove = 16_384;

/**
 * Returns the agent that gets the next message of a session. @throws MeshError `not_found` for an app or
 * session that does not exist
 */
export async function speakerFor(
  mesh: Mesh,
  { app, user, session, message }: { app: string; user: string; session: string; message: unknown },
): Promise<string> {
  const ref: SessionRef = { appName: app, userId: user, sessionId: session };
  const root = await rootOf(mesh, app);
  const [view, askingEvents] = await Promise.all([
    mesh.sessions.leases.look(ref),
    askedFor(mesh, ref, message),
  ]);
  if (!view) throw noSession(ref);
  return await speakerOf(mesh, root, { ...ref, seq: view.seq }, { message, askingEvents });
}

/** Tells whether no agent but the root can keep the conversation: nobody needs to look for the last speaker. */
export function onlyRootSpeaks(mesh: Mesh, root: AgentCard): boolean {
  return agentCards(mesh).every(({ name }) => name === root.name || !keepsConversation(mesh, root, name));
}

/**
 * Returns the agent that gets the next message. An answer goes to the agent that asked, which `askingEvents`
 * tells ({@link askedFor}). Any other message goes to the agent that spoke last, among the agents that could
 * give the conversation back. Within one process `nextSpeaker` of `@agentmesh/agent` decides by the same
 * rule, on agents.
 */
export async function speakerOf(
  mesh: Mesh,
  root: AgentCard,
  { seq, ...ref }: SessionRef & { seq: number },
  { message, askingEvents }: { message: unknown; askingEvents: readonly Event[] },
): Promise<string> {
  const asker = askerOf(mesh, message, askingEvents);
  if (asker !== undefined) return asker;
  if (onlyRootSpeaks(mesh, root)) return root.name;
  let size = recentEvents;
  for (let lastSeq = seq; lastSeq > 0; lastSeq -= size, size = pageSize) {
    const afterSeq = Math.max(lastSeq - size, 0);
    const events: Event[] = [];
    for await (const { event } of readLog(mesh, ref, { afterSeq, lastSeq, outlineAbove })) events.push(event);
    noteUnread(events, afterSeq);
    const speaker = lastSpeaker(mesh, root, events);
    if (speaker !== undefined) return speaker;
  }
  return root.name;
}

/** Returns the last speaker among the agents that keep a conversation. */
function lastSpeaker(mesh: Mesh, root: AgentCard, events: readonly Event[]): string | undefined {
  for (const event of logIndex(events).visible().toReversed()) {
    const service = serviceOf(mesh, event);
    if (service !== undefined && keepsConversation(mesh, root, service)) return service;
  }
  return undefined;
}

/**
 * Returns the agent whose process committed the event. The author itself may be an agent below it, without a
 * card.
 */
function serviceOf(mesh: Mesh, { author, customMetadata }: Event): string | undefined {
  if (author === undefined || author === 'user') return undefined;
  if (agentCard(mesh, author)) return author;
  const replica = customMetadata?.[replicaKey];
  return agentCards(mesh).find(({ name }) => isReplicaOf(replica, serviceName('agent', name)))?.name;
}

/**
 * Tells whether the agent keeps the conversation, by the same rule as in one process: the agent and all
 * agents above it up to the root can give the conversation back.
 */
function keepsConversation(mesh: Mesh, root: AgentCard, name: string, below: string[] = []): boolean {
  if (name === root.name) return below.length === 0 || root.llm;
  const card = agentCard(mesh, name);
  if (!card?.llm || card.disallowTransferToParent || below.includes(name)) return false;
  const parents = agentCards(mesh).filter(({ subAgents }) => subAgents.includes(name));
  return parents.some((parent) => keepsConversation(mesh, root, parent.name, [...below, name]));
}

/**
 * Returns the service of the agent whose call the message answers: the workflow that runs the agent, or the
 * agent itself, whichever has a card.
 */
function askerOf(mesh: Mesh, message: unknown, askingEvents: readonly Event[]): string | undefined {
  const { parts = [] } = parse(messageSchema, message, 'the message');
  const answered = new Set(parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []));
  const asking = askingEvents.findLast((event) =>
    getFunctionCalls(event).some(({ id }) => id !== undefined && answered.has(id)),
  );
  if (!asking) return undefined;
  const [workflow] = pathOf(asking)?.split('.') ?? [];
  return [workflow, asking.author].find((name) => name !== undefined && agentCard(mesh, name));
}

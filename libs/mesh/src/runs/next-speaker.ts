import { getFunctionCalls, type Session } from '@agentmesh/agent';
import { logIndex, noteUnread, pathOf, unreadBefore } from '@agentmesh/agent/internal';
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
import { noSession } from '../mesh/no-session.ts';
import { rootOf } from '../mesh/root-agent.ts';
import { serviceName } from '../mesh/service-name.ts';

/** How many events are looked at first for who spoke last. */
export const recentEvents = 20;
/** And then, further and further back, at a time. */
const pageSize = 200;

/** Whom the next message of a session goes to. @throws MeshError `not_found` for an app or session that is not there */
export async function speakerFor(
  mesh: Mesh,
  { app, user, session, message }: { app: string; user: string; session: string; message: unknown },
): Promise<string> {
  const ref: SessionRef = { appName: app, userId: user, sessionId: session };
  const root = await rootOf(mesh, app);
  const head = await mesh.sessions.getSession({ ...ref, config: { numRecentEvents: recentEvents } });
  if (!head) throw noSession(ref);
  return await speakerOf(mesh, root, head, { message, asked: await askedFor(mesh, ref, message) });
}

/**
 * Whom the next message goes to: an answer to who asked, as `asked` tells ({@link askedFor}); anything else to the agent that spoke last, of those
 * that could give the conversation back.
 */
export async function speakerOf(
  mesh: Mesh,
  root: AgentCard,
  head: Session,
  { message, asked }: { message: unknown; asked: readonly Event[] },
): Promise<string> {
  const { events } = head;
  noteUnread(events, unreadBefore(head));
  const ref = { appName: head.appName, userId: head.userId, sessionId: head.id };
  const asker = askerOf(mesh, message, asked);
  if (asker !== undefined) return asker;
  // Where only the root keeps the conversation, nobody need look for who did.
  if (agentCards(mesh).every(({ name }) => name === root.name || !keepsConversation(mesh, root, name)))
    return root.name;
  let speaker = lastSpeaker(mesh, root, events);
  for (let last = unreadBefore(head); speaker === undefined && last > 0; last -= pageSize) {
    const afterSeq = Math.max(last - pageSize, 0);
    const page = await mesh.sessions.log.readEvents({ ...ref, afterSeq, limit: last - afterSeq });
    speaker = lastSpeaker(
      mesh,
      root,
      page.map(({ event }) => event),
    );
  }
  return speaker ?? root.name;
}

/** The agent that spoke last of those that keep a conversation. */
function lastSpeaker(mesh: Mesh, root: AgentCard, events: readonly Event[]): string | undefined {
  for (const event of logIndex(events).visible().toReversed()) {
    const service = serviceOf(mesh, event);
    if (service !== undefined && keepsConversation(mesh, root, service)) return service;
  }
  return undefined;
}

/** The agent whose process an event comes from: the author may be one below it that has no card. */
function serviceOf(mesh: Mesh, { author, customMetadata }: Event): string | undefined {
  if (author === undefined || author === 'user') return undefined;
  if (agentCard(mesh, author)) return author;
  const replica = customMetadata?.[replicaKey];
  return agentCards(mesh).find(({ name }) => isReplicaOf(replica, serviceName('agent', name)))?.name;
}

/** As in one process: it could give the conversation back, and so could all above it up to the root. */
function keepsConversation(mesh: Mesh, root: AgentCard, name: string, below: string[] = []): boolean {
  if (name === root.name) return below.length === 0 || root.llm;
  const card = agentCard(mesh, name);
  if (!card?.llm || card.disallowTransferToParent || below.includes(name)) return false;
  const parents = agentCards(mesh).filter(({ subAgents }) => subAgents.includes(name));
  return parents.some((parent) => keepsConversation(mesh, root, parent.name, [...below, name]));
}

/** The service of the agent whose call the message answers: the workflow that runs it, or the agent itself, whichever has a card. */
function askerOf(mesh: Mesh, message: unknown, asked: readonly Event[]): string | undefined {
  const { parts = [] } = parse(messageSchema, message, 'the message');
  const answered = new Set(parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []));
  const asking = asked.findLast((event) =>
    getFunctionCalls(event).some(({ id }) => id !== undefined && answered.has(id)),
  );
  if (!asking) return undefined;
  const [workflow] = pathOf(asking)?.split('.') ?? [];
  return [workflow, asking.author].find((name) => name !== undefined && agentCard(mesh, name));
}

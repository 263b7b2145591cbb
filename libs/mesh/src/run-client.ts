import { getFunctionCalls, newInvocationId, pathOf, type Session } from '@agentmesh/agent';
import { isReplicaOf } from '@agentmesh/bus';
import {
  type AgentCard,
  type Event,
  type Headers,
  header,
  type InvocationEnd,
  MeshError,
  messageSchema,
  nextTrace,
  parse,
  type RunCommandInput,
  replicaKey,
  type SessionRef,
} from '@agentmesh/protocol';
import { agentCard, agentCards, type Mesh } from './mesh.ts';
import { serviceName } from './service-name.ts';
import { watchInvocation } from './watch.ts';

export interface RunRequest {
  app: string;
  user: string;
  session: string;
  message: NonNullable<RunCommandInput['message']>;
  stateDelta?: Record<string, unknown>;
  runConfig?: RunCommandInput['runConfig'];
}

export interface RunOptions {
  /** Stops watching; the run itself goes on. */
  signal?: AbortSignal;
  /** Time for the whole run, in ms; past it, work on it stops. Default: none. */
  timeoutMs?: number;
  /** Trace headers of whoever asked. */
  headers?: Headers;
  /** What to do when no replica of the agent is up: `reject` at once, or `enqueue` and wait for one. Default `reject`. */
  whenAbsent?: 'reject' | 'enqueue';
}

/** A run that was accepted: from here on it survives every crash. */
export interface StartedRun {
  invocationId: string;
  /** The agent that the message went to. */
  agent: string;
  /** What happens, partial events too, each committed event once and in order, until the end. The user's message is not among it. */
  events: AsyncIterable<Event>;
  /** How it ended; settles after `events` has. */
  end: Promise<InvocationEnd>;
}

/**
 * Gives an app a message and tells what happens. Resolves when the run command is safe in its queue.
 *
 * @throws MeshError `not_found` for an unknown app or session, `invalid_argument` for a message that is none, `failed_precondition` for an app
 * with two roots, `unavailable` when no replica is up.
 */
export async function startRun(
  mesh: Mesh,
  request: RunRequest,
  options: RunOptions = {},
): Promise<StartedRun> {
  const { app, user, session, ...rest } = request;
  const { signal, timeoutMs, whenAbsent = 'reject' } = options;
  const ref: SessionRef = { appName: app, userId: user, sessionId: session };
  const root = await rootOf(mesh, app);
  const head = await mesh.sessions.getSession({ ...ref, config: { numRecentEvents: recentEvents } });
  if (!head) {
    throw new MeshError(
      'not_found',
      `there is no session ${session} of user ${user} in app ${app}; create it first`,
    );
  }
  const agent = await speakerOf(mesh, root, head, request.message);
  if (whenAbsent === 'reject' && !(await isThere(mesh, agent))) {
    throw new MeshError('unavailable', `no replica of agent ${agent} is up; start one, or try again later`);
  }
  const invocationId = newInvocationId();
  const watch = await watchInvocation(mesh, { ...ref, invocationId }, head.seq, signal);
  try {
    const command: RunCommandInput = { invocationId, app, user, session, ...rest };
    await mesh.bus.enqueue(mesh.subjects.agentRun(agent), command, {
      messageId: `${invocationId}:0`,
      headers: {
        ...nextTrace(options.headers),
        ...(timeoutMs !== undefined && { [header.deadline]: String(Date.now() + timeoutMs) }),
      },
    });
  } catch (error) {
    await watch.stop();
    throw error;
  }
  return { invocationId, agent, events: watch.events, end: watch.end };
}

/**
 * The app's root agent. A card outlives its agent: of several that claim the app, those that nobody serves do not count.
 *
 * @throws MeshError `not_found`; `failed_precondition` when two agents that are up claim the app.
 */
export async function rootOf(mesh: Mesh, app: string): Promise<AgentCard> {
  const claims = agentCards(mesh).filter((card) => card.app === app);
  const [first] = claims;
  if (!first) {
    const apps = appNames(mesh).join(', ') || 'none';
    throw new MeshError('not_found', `there is no app ${app} in the mesh; the apps are: ${apps}`);
  }
  if (claims.length === 1) return first;
  const isUp = await Promise.all(claims.map(({ name }) => mesh.bus.isServed(mesh.subjects.shownAs(name))));
  const up = claims.filter((_claim, index) => isUp[index]);
  if (up.length < 2) return up[0] ?? first;
  throw new MeshError(
    'failed_precondition',
    twoRoots(
      app,
      up.map(({ name }) => name),
    ),
  );
}

export function twoRoots(app: string, names: readonly string[]): string {
  return `agents ${names.join(' and ')} both claim app ${app}: an app has one root agent`;
}

/** All apps that have a root agent, sorted. */
export function appNames(mesh: Mesh): string[] {
  return [...new Set(agentCards(mesh).flatMap(({ app }) => app ?? []))].sort();
}

/**
 * Whom the next message goes to: an answer to who asked; anything else to the agent that spoke last, of those that could give the conversation
 * back.
 */
async function speakerOf(
  mesh: Mesh,
  root: AgentCard,
  head: Session,
  message: RunRequest['message'],
): Promise<string> {
  const { events, seq } = head;
  const ref = { appName: head.appName, userId: head.userId, sessionId: head.id };
  const asker = await askerOf(mesh, ref, message);
  if (asker !== undefined) return asker;
  const speaker = lastSpeaker(mesh, root, events);
  if (speaker !== undefined || seq <= recentEvents) return speaker ?? root.name;
  const session = await mesh.sessions.getSession(ref);
  return lastSpeaker(mesh, root, session?.events ?? []) ?? root.name;
}

/** How many events are looked at first for who spoke last. */
const recentEvents = 20;

/** The agent that spoke last of those that keep a conversation. */
function lastSpeaker(mesh: Mesh, root: AgentCard, events: readonly Event[]): string | undefined {
  for (const event of events.toReversed()) {
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
async function askerOf(
  mesh: Mesh,
  ref: SessionRef,
  message: RunRequest['message'],
): Promise<string | undefined> {
  const { parts = [] } = parse(messageSchema, message, 'the message');
  const answered = new Set(parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []));
  if (answered.size === 0) return undefined;
  const session = await mesh.sessions.getSession(ref);
  const asking = session?.events.findLast((event) =>
    getFunctionCalls(event).some(({ id }) => id !== undefined && answered.has(id)),
  );
  if (!asking) return undefined;
  const [workflow] = pathOf(asking)?.split('.') ?? [];
  return [workflow, asking.author].find((name) => name !== undefined && agentCard(mesh, name));
}

/** Asked a few times: after a restart of the server its clients come back one by one. */
async function isThere({ bus, subjects }: Mesh, agent: string): Promise<boolean> {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    if (await bus.isServed(subjects.shownAs(agent))) return true;
    if (attempt < 3) await new Promise((resolve) => setTimeout(resolve, 150));
  }
  return false;
}

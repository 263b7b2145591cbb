import { getFunctionCalls, newInvocationId, pathOf } from '@agentmesh/agent';
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
  type SessionRef,
} from '@agentmesh/protocol';
import { agentCard, agentCards, type Mesh } from './mesh.ts';
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
  const [head, agent] = await Promise.all([
    mesh.sessions.getSession({ ...ref, config: { numRecentEvents: 0 } }),
    speakerOf(mesh, root, ref, request.message),
  ]);
  if (!head) {
    throw new MeshError(
      'not_found',
      `there is no session ${session} of user ${user} in app ${app}; create it first`,
    );
  }
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
 * Whom the next message goes to: an answer to who asked; anything else to the agent that the conversation was transferred to, unless it may not
 * give it back.
 */
async function speakerOf(
  mesh: Mesh,
  root: AgentCard,
  ref: SessionRef,
  message: RunRequest['message'],
): Promise<string> {
  const asker = await askerOf(mesh, ref, message);
  if (asker !== undefined) return asker;
  const active = await mesh.sessions.getActiveAgent(ref);
  const card = active === undefined ? undefined : agentCard(mesh, active);
  return card && !card.disallowTransferToParent ? card.name : root.name;
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

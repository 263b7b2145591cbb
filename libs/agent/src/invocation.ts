import { type Event, MeshError, type RunConfig } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { BaseAgent } from './base-agent.ts';
import { createEvent, getFunctionCalls, getFunctionResponses } from './event.ts';
import { InvocationContext, type TransferPort } from './invocation-context.ts';
import { LlmAgent } from './llm-agent.ts';
import type { Session, SessionService } from './session-service.ts';

export interface InvocationOptions {
  /** The agent of this process that is meant, with all below it. */
  agent: BaseAgent;
  session: Session;
  sessionService: SessionService;
  invocationId: string;
  /** Absent when the invocation goes on: after a transfer, or after a crash. */
  newMessage?: Content;
  stateDelta?: Record<string, unknown>;
  runConfig: RunConfig;
  abortSignal?: AbortSignal;
  transfers?: TransferPort;
  carrier?: Readonly<Record<string, string>>;
  /** Set where the agent is a step of a workflow agent elsewhere: its branch, and where in the log its own events begin. */
  branch?: string;
  journalStart?: number;
  /** Looks at each event before it is committed; may add to it. */
  stamp?: (event: Event) => void;
}

/**
 * The loop that thinks, the same in one process and on the mesh: lets the agent go on, commits what it yields, passes it on, and only then
 * lets it go on again. Started anew on the same session and invocation id, it goes on from what was committed.
 *
 * Yields every committed event, the user's message among them, and partial ones.
 */
export async function* runInvocation(options: InvocationOptions): AsyncGenerator<Event, void, void> {
  const {
    agent,
    session,
    sessionService,
    invocationId,
    newMessage,
    runConfig,
    abortSignal,
    transfers,
    carrier,
  } = options;
  const commit = async (event: Event): Promise<Event> => {
    options.stamp?.(event);
    return event.partial ? event : await sessionService.appendEvent({ session, event });
  };
  const ref = { appName: session.appName, userId: session.userId, sessionId: session.id, invocationId };
  Object.assign(session.state, (await sessionService.getInvocation(ref)).temp);
  const message = messageEvent(options);
  if (message && !session.events.some(({ id }) => id === message.id)) yield await commit(message);
  const said = session.events.find((event) => event.invocationId === invocationId && event.author === 'user');
  const userContent = newMessage ?? said?.content;
  const context = new InvocationContext({
    invocationId,
    session,
    sessionService,
    agent,
    runConfig,
    ...(userContent && { userContent }),
    ...(abortSignal && { abortSignal }),
    ...(transfers && { transfers }),
    ...(carrier && { carrier }),
    ...(options.branch !== undefined && { branch: options.branch }),
    ...(options.journalStart !== undefined && { journalStart: options.journalStart }),
  });
  for await (const event of chooseAgent(agent, session, invocationId).runAsync(context))
    yield await commit(event);
}

/** The user's message. Its id follows from invocation and session, so that a second start does not say it twice. */
function messageEvent({
  newMessage,
  invocationId,
  session,
  stateDelta = {},
}: InvocationOptions): Event | undefined {
  if (!newMessage) return undefined;
  if (!newMessage.parts?.length)
    throw new MeshError('invalid_argument', 'the message has no parts; say something');
  return createEvent({
    id: `${invocationId}/${session.id}`,
    invocationId,
    author: 'user',
    content: { ...newMessage, role: newMessage.role ?? 'user' },
    actions: { stateDelta },
  });
}

/** Which agent of this process speaks: the one that asked for what came, else the one that spoke last, else the first. */
function chooseAgent(root: BaseAgent, { events }: Session, invocationId: string): BaseAgent {
  const last = events.at(-1);
  const answered = last?.author === 'user' ? getFunctionResponses(last)[0]?.id : undefined;
  if (answered !== undefined) {
    const asking = events.findLast((event) => getFunctionCalls(event).some(({ id }) => id === answered));
    const asker = localAgent(root, asking?.author);
    if (asker) return asker;
  }
  for (const { author, actions, invocationId: of } of events.toReversed()) {
    // Within the invocation a transfer names its next agent; of older ones the last speaker is asked again if it may be.
    const next = of === invocationId ? localAgent(root, actions.transferToAgent) : undefined;
    if (next) return next;
    const speaker = localAgent(root, author);
    if (speaker && (of === invocationId || isSticky(speaker, root))) return speaker;
  }
  return root;
}

function localAgent(root: BaseAgent, name: string | undefined): BaseAgent | undefined {
  const agent = name === undefined ? undefined : root.findAgent(name);
  return agent?.isRemote ? undefined : agent;
}

/** An agent keeps the conversation only if it could give it back: it and all above it are LLM agents that may transfer up. */
function isSticky(agent: BaseAgent, root: BaseAgent): boolean {
  if (agent === root) return true;
  if (!(agent instanceof LlmAgent) || agent.disallowTransferToParent || !agent.parentAgent) return false;
  return isSticky(agent.parentAgent, root);
}

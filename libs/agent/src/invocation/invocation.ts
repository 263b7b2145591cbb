import type { AnsweredBy, Event, RunConfig } from '@agentmesh/protocol';
import { unlessAborted } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { BaseAgent } from '../base/base-agent.ts';
import type { BaseContextCompactor } from '../base/context-compactor.ts';
import {
  InvocationContext,
  type InvocationContextFields,
  type InvocationServices,
  type TransferPort,
} from '../base/invocation-context.ts';
import { markIfChanged } from '../base/note-step.ts';
import type { PluginManager } from '../base/plugin-manager.ts';
import { keepAnswers } from '../credentials/keep-answers.ts';
import type { WithNodeInfo } from '../events/agent-path.ts';
import { breathe } from '../events/breathe.ts';
import { createEvent } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { messageEventId } from '../events/run-ids.ts';
import { isFirstPart } from '../flow/hold-step.ts';
import type { HeldStep } from '../journal/held-step.ts';
import { assertContinues } from '../questions/assert-continues.ts';
import { readPlainConfirmation } from '../questions/plain-confirmation.ts';
import { readMessage, type UserMessage } from '../questions/read-message.ts';
import { orRefused } from '../questions/refusal.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionService } from '../sessions/session-service.ts';
import { nextSpeaker } from './next-speaker.ts';
import { saveInputBlobs } from './save-input-blobs.ts';

export interface InvocationOptions extends InvocationServices {
  /** The agent of this process that is meant, with all below it. */
  agent: BaseAgent;
  session: Session;
  sessionService: SessionService;
  invocationId: string;
  /** The run continues an invocation that has ended, with answers to what that one asked: an id of its own. */
  resume?: string;
  /** Absent when the invocation goes on: after a transfer, or after a crash. */
  newMessage?: Content;
  stateDelta?: Record<string, unknown>;
  /** Goes into the user's event. */
  customMetadata?: Record<string, unknown>;
  /** Who gave the answers in the message; noted in its event, under `customMetadata.answeredBy`. */
  answeredBy?: AnsweredBy;
  runConfig: RunConfig;
  abortSignal?: AbortSignal;
  transfers?: TransferPort;
  carrier?: Readonly<Record<string, string>>;
  pluginManager?: PluginManager;
  /** Set where the agent is a step of a workflow agent elsewhere: its branch and path, and where in the log its own events begin. */
  branch?: string;
  path?: string;
  journalStart?: number;
  /** Set where the process that asks commits the events. */
  held?: HeldStep;
  isUnderOwnCode?: boolean;
  /** How often this work was begun, this time counted; default 1. */
  attempt?: number;
  /** On a mesh: where updates of a call are published. */
  operationSubject?: (callId: string) => string;
  /** Set where another agent asks this one on behalf of a call: its message is not the user's. */
  isAsked?: boolean;
  /** Of the app: keep the prompts of agents short. */
  contextCompactors?: readonly BaseContextCompactor[];
  /** Looks at each event before it is committed; may add to it. */
  stamp?: (event: Event) => void;
}

/**
 * The loop that thinks, the same in one process and on the mesh: lets the agent go on, commits what it yields, passes it on, and only then
 * lets it go on again. Started anew on the same session and invocation id, it goes on from what was committed.
 *
 * Yields every committed event, the user's message among them, and partial ones.
 *
 * @throws MeshError for a message that is refused, before anything is committed: as {@link readMessage}, and marked ({@link isRefused})
 */
export async function* runInvocation(options: InvocationOptions): AsyncGenerator<Event, void, void> {
  const { agent, session, sessionService, invocationId, newMessage, stamp } = options;
  const commit = async (event: Event): Promise<Event> => {
    stamp?.(event);
    return event.partial ? event : await sessionService.appendEvent({ session, event });
  };
  const ref = { appName: session.appName, userId: session.userId, sessionId: session.id, invocationId };
  Object.assign(session.state, (await sessionService.invocations.get(ref)).temp);
  if (newMessage) {
    const id = messageEventId(options, session.id);
    if (!logIndex(session.events).has(id)) {
      const message = await orRefused(() => readRunMessage(options, newMessage));
      const event = await messageEvent(options, message, id);
      await keepAnswers(options.signInService, ref, message.credentials);
      yield await commit(event);
    }
  }
  const own = logIndex(session.events).ofInvocation(invocationId);
  const said = own.findLast(({ author }) => author === 'user');
  const context = contextOf(options, structuredClone(said?.content) ?? newMessage);
  const { pluginManager } = context;
  const isBegun = options.held !== undefined && !isFirstPart(options.held);
  const instead = isBegun ? saidInstead(context) : await answerInstead(context);
  if (instead) {
    if (!isBegun) yield await commit(instead);
  } else {
    // A step of a workflow elsewhere is run as the workflow would run it in its own process: it reads off the journal who goes on.
    const speaker = options.path === undefined ? nextSpeaker(agent, session, invocationId) : agent;
    const events = speaker.runAsync(context);
    for await (const event of abortable(events, context.abortSignal)) {
      const shown = await shownToPlugins(context, event);
      markIfChanged(context, shown);
      yield await commit(shown);
    }
  }
  await pluginManager.run('afterRunCallback', { invocationContext: context });
}

/**
 * Takes what agents yield no longer than the signal allows: code of the user's that heeds no signal, or never settles, must not hold the run. What it
 * yields later is nobody's.
 */
async function* abortable(
  events: AsyncGenerator<Event, void, void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, void> {
  let isOver = false;
  try {
    for (;;) {
      const step = await unlessAborted(events.next(), signal);
      isOver = step.done === true;
      if (step.done) return;
      yield step.value;
      await breathe();
    }
  } finally {
    if (!isOver) {
      const end = events.return().catch(() => {});
      // What hangs would hang its own end too.
      if (!signal?.aborted) await end;
    }
  }
}

function contextOf(options: InvocationOptions, userContent: Content | undefined): InvocationContext {
  const {
    newMessage: _message,
    stateDelta: _delta,
    customMetadata: _metadata,
    answeredBy: _answeredBy,
    isAsked: _isAsked,
    stamp: _stamp,
    ...fields
  } = options;
  return new InvocationContext({
    ...(fields satisfies InvocationContextFields),
    ...(userContent && { userContent }),
  });
}

/** A message of a run that continues an invocation is an answer to it. An ask within the invocation brings what its callee shall do. */
function readRunMessage(
  { session, invocationId, resume, isAsked, answeredBy, runConfig }: InvocationOptions,
  message: Content,
) {
  const { events } = session;
  const isPlain = runConfig.plainTextToolConfirmation && !isAsked;
  const said = isPlain ? readPlainConfirmation(message, events) : message;
  const read = readMessage(said, { events, via: answeredBy?.via });
  if (resume !== undefined && !isAsked) assertContinues(said, { events, invocationId });
  return read;
}

/** The user's message. Its id follows from invocation and session, so that a second start does not say it twice. */
async function messageEvent(
  options: InvocationOptions,
  { content }: UserMessage,
  id: string,
): Promise<Event> {
  const { invocationId, stateDelta = {} } = options;
  const userMessage = { ...content, role: content.role ?? 'user' };
  const invocationContext = contextOf(options, userMessage);
  const { pluginManager } = invocationContext;
  const replaced = await pluginManager.run('onUserMessageCallback', { invocationContext, userMessage });
  const saved = await saveInputBlobs(invocationContext, replaced ?? userMessage);
  const customMetadata = metadataOf(options, userMessage);
  return createEvent({
    id,
    invocationId,
    author: 'user',
    content: saved.content,
    ...(customMetadata && { customMetadata }),
    actions: { stateDelta: { ...stateDelta }, artifactDelta: saved.artifactDelta },
  });
}

function metadataOf(
  { customMetadata, answeredBy }: InvocationOptions,
  { parts = [] }: Content,
): Record<string, unknown> | undefined {
  if (!answeredBy || !parts.some(({ functionResponse }) => functionResponse)) return customMetadata;
  return { ...customMetadata, answeredBy };
}

function insteadId(context: InvocationContext): string {
  return `${messageEventId(context, context.session.id)}/before-run`;
}

/** The event of a plugin that spoke in place of all agents, if it is in the log. */
function saidInstead(context: InvocationContext): Event | undefined {
  return logIndex(context.session.events).get(insteadId(context));
}

/** Asks the plugins whether one speaks in place of all agents. */
async function answerInstead(context: InvocationContext): Promise<Event | undefined> {
  const { invocationId, pluginManager } = context;
  const known = saidInstead(context);
  if (known) return known;
  const id = insteadId(context);
  const content = await pluginManager.run('beforeRunCallback', { invocationContext: context });
  return content && createEvent({ id, invocationId, author: 'model', content });
}

/**
 * Lets plugins look at an event, and put another one in its place: what identifies it stays. An event of an agent
 * elsewhere has passed the plugins of its own process: those of this one only see it.
 */
async function shownToPlugins(context: InvocationContext, event: Event & WithNodeInfo): Promise<Event> {
  const { pluginManager } = context;
  const { id, invocationId, timestamp, nodeInfo } = event;
  const isElsewhere = context.isFromElsewhere(id);
  const shown = isElsewhere ? structuredClone(event) : event;
  const replaced = await pluginManager.run('onEventCallback', { invocationContext: context, event: shown });
  if (!replaced || isElsewhere) return event;
  return { ...replaced, id, invocationId, timestamp, ...(nodeInfo && { nodeInfo }) } as Event;
}

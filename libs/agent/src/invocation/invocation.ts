import { type Event, MeshError } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { runAgent } from '../base/base-agent.ts';
import { InvocationContext, type InvocationContextFields } from '../base/invocation-context.ts';
import { markIfChanged } from '../base/note-step.ts';
import { keepAnswers } from '../credentials/keep-answers.ts';
import type { WithNodeInfo } from '../events/agent-path.ts';
import { breathe } from '../events/breathe.ts';
import { copyJson } from '../events/copy-json.ts';
import { asGenerator, type Emit } from '../events/emit.ts';
import { createEvent } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { messageEventId } from '../events/run-ids.ts';
import { isFirstPart } from '../journal/held-step.ts';
import { assertContinues } from '../questions/assert-continues.ts';
import { readPlainConfirmation } from '../questions/plain-confirmation.ts';
import { readMessage, type UserMessage } from '../questions/read-message.ts';
import { orRefused } from '../questions/refusal.ts';
import type { EndingCommit } from '../sessions/invocations.ts';
import { isLastWord } from './is-last-word.ts';
import { createMessageEvent, type MessageOptions, withRole } from './message-event.ts';
import { nextSpeaker } from './next-speaker.ts';
import { type SavedMessage, saveInputBlobs } from './save-input-blobs.ts';
import { untilAborted } from './until-aborted.ts';

/** The fields of the context that the run itself finds out. */
type FoundFields = 'userContent' | 'observe' | 'journal' | 'flowRun' | 'isDirect';

/** The agent is the root of the agents of this process that take part. */
export interface InvocationOptions extends Omit<InvocationContextFields, FoundFields>, MessageOptions {
  /** The message; absent when the invocation continues after a transfer or a crash. */
  newMessage?: Content;
  /** The event of the message, if it was committed when the session was taken: see `plainMessageEvent`. */
  committedMessage?: Event | undefined;
  /** The `temp:` state of the invocation, keys with their prefix; default: it is read. */
  temp?: Readonly<Record<string, unknown>>;
  /** Set when another agent asks this agent within a call: the message then does not come from the user. */
  isAsked?: boolean;
  /** Set when the message holds an answer that was checked in the session of the calling agent. */
  isChecked?: boolean;
  /** Called for each event before it is committed; may add fields to the event. */
  stamp?: (event: Event) => void;
  /**
   * Called before the commit of an event that is the last one for certain, whatever else is in the log. The commit
   * records the returned end of the run. Without such an event the caller ends the run itself.
   */
  endsWith?: (() => EndingCommit) | undefined;
}

/**
 * Runs an invocation, the same in one process and on the mesh: commits each event of the agent, hands it over to
 * `emit`, and only then lets the agent continue. A new run with the same session and invocation id continues from the
 * committed events.
 *
 * Emits every committed event, including the user's message, and partial events.
 *
 * @throws MeshError for a refused message, before anything is committed: as {@link readMessage}, and marked
 * ({@link isRefused})
 */
export async function invoke(options: InvocationOptions, emit: Emit<Event>): Promise<void> {
  const { agent, session, sessionService, invocationId, newMessage, stamp, endsWith } = options;
  const commit = async (event: Event, end?: EndingCommit): Promise<void> => {
    stamp?.(event);
    const isKept = !event.partial;
    await emit(isKept ? await sessionService.appendEvent({ session, event, ...(end && { end }) }) : event);
  };
  const ref = { appName: session.appName, userId: session.userId, sessionId: session.id, invocationId };
  Object.assign(session.state, options.temp ?? (await sessionService.invocations.get(ref)).temp);
  if (options.committedMessage) await emit(options.committedMessage);
  else if (newMessage && !logIndex(session.events).has(messageEventId(options, session.id))) {
    options.abortSignal?.throwIfAborted();
    const message = await orRefused(() => readRunMessage(options, newMessage));
    const event = await messageEvent(options, message);
    await keepAnswers(options.signInService, ref, message.credentials);
    await commit(event);
  }
  const ownEvents = logIndex(session.events).ofInvocation(invocationId);
  const userEvent = ownEvents.findLast(({ author }) => author === 'user');
  const context = contextOf(options, copyJson(userEvent?.content) ?? newMessage);
  const { pluginManager, abortSignal } = context;
  const isBegun = options.held !== undefined && !isFirstPart(options.held);
  const replacement = isBegun ? replacementEvent(context) : await askForReplacement(context);
  if (replacement) {
    if (!isBegun) await commit(replacement);
  } else {
    // A step of a workflow of another process runs directly: that workflow has chosen the agent from the
    // journal.
    const speaker = options.path === undefined ? nextSpeaker(agent, session, invocationId) : agent;
    const pass = async (event: Event) => {
      const committable = pluginManager.has('onEventCallback') ? await applyPlugins(context, event) : event;
      markIfChanged(context, committable);
      const end = isLastWord(context, speaker, committable) ? endsWith?.() : undefined;
      await commit(committable, end).catch((error: unknown) => Promise.reject(ofAgent(speaker.name, error)));
      await breathe();
    };
    await untilAborted(abortSignal, pass, (send) => speaker[runAgent](context, send));
  }
  await pluginManager.run('afterRunCallback', { invocationContext: context });
}

/** Returns the error of an event that cannot be stored as the defect of the agent that it is: the message was good. */
function ofAgent(name: string, error: unknown): unknown {
  if (!(error instanceof MeshError) || error.code !== 'invalid_argument') return error;
  const message = `agent ${name} made an event that cannot be stored: ${error.message}`;
  return new MeshError('internal', message, { cause: error });
}

/** Does the same as {@link invoke}, and yields the events. */
export function runInvocation(options: InvocationOptions): AsyncGenerator<Event, void, void> {
  return asGenerator((emit) => invoke(options, emit));
}

function contextOf(options: InvocationOptions, userContent: Content | undefined): InvocationContext {
  return new InvocationContext({ ...options, ...(userContent && { userContent }), isDirect: true });
}

/**
 * Reads the message of a run. In a run that continues an invocation the message must answer that invocation.
 * Within an ask the message holds the task of the called agent.
 */
function readRunMessage(
  { session, invocationId, resume, isAsked, isChecked, answeredBy, runConfig }: InvocationOptions,
  message: Content,
) {
  const { events, userId } = session;
  const isPlain = runConfig.plainTextToolConfirmation && !isAsked;
  const checkedMessage = isPlain ? readPlainConfirmation(message, events) : message;
  const read = readMessage(checkedMessage, { events, answeredBy, userId, isChecked });
  if (resume !== undefined && !isAsked) assertContinues(checkedMessage, { events, invocationId });
  return read;
}

/** Makes the event of the user's message. */
async function messageEvent(options: InvocationOptions, { content }: UserMessage): Promise<Event> {
  const { userId, id: sessionId } = options.session;
  const userMessage = withRole(content);
  const saved = await preparedMessage(options, userMessage);
  return createMessageEvent(options, { userId, sessionId }, userMessage, saved);
}

/** Lets plugins replace the user's message, and saves its files. */
async function preparedMessage(options: InvocationOptions, userMessage: Content): Promise<SavedMessage> {
  const isHeard = options.pluginManager?.has('onUserMessageCallback');
  if (!isHeard && !options.runConfig.saveInputBlobsAsArtifacts)
    return { content: userMessage, artifactDelta: {} };
  const invocationContext = contextOf(options, userMessage);
  const { pluginManager } = invocationContext;
  const replaced = await pluginManager.run('onUserMessageCallback', { invocationContext, userMessage });
  return await saveInputBlobs(invocationContext, replaced ?? userMessage);
}

function replacementId(context: InvocationContext): string {
  return `${messageEventId(context, context.session.id)}/before-run`;
}

/** Returns the event with which a plugin answered in place of all agents, if it is in the log. */
function replacementEvent(context: InvocationContext): Event | undefined {
  return logIndex(context.session.events).get(replacementId(context));
}

/** Asks the plugins whether one of them answers in place of all agents. */
async function askForReplacement(context: InvocationContext): Promise<Event | undefined> {
  const { invocationId, pluginManager } = context;
  const existing = replacementEvent(context);
  if (existing) return existing;
  const id = replacementId(context);
  const content = await pluginManager.run('beforeRunCallback', { invocationContext: context });
  return content && createEvent({ id, invocationId, author: 'model', content });
}

/**
 * Lets plugins see an event and replace it; its id, invocation, time and path stay. An event of a remote
 * agent has passed the plugins of its own process: the plugins of this process see the event and cannot
 * replace it.
 */
async function applyPlugins(context: InvocationContext, event: Event & WithNodeInfo): Promise<Event> {
  const { pluginManager } = context;
  const { id, invocationId, timestamp, nodeInfo } = event;
  const isElsewhere = context.isFromElsewhere(id);
  const pluginEvent = isElsewhere ? structuredClone(event) : event;
  const replaced = await pluginManager.run('onEventCallback', {
    invocationContext: context,
    event: pluginEvent,
  });
  if (!replaced || isElsewhere) return event;
  return { ...replaced, id, invocationId, timestamp, ...(nodeInfo && { nodeInfo }) } as Event;
}

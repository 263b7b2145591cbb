import type { Event } from '@agentmesh/protocol';
import { isInPath, isOnBranch } from '../events/agent-path.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isQuestionName } from '../events/question.ts';
import { clientCalls } from './client-input.ts';
import { stepAuthor } from './step-mark.ts';

/** The part of a session's log that is the journal of an invocation. */
export interface JournalRange {
  /** Index of its first event in `session.events`. */
  start: number;
  invocations: ReadonlySet<string>;
}

/** The parts of an invocation context that the journal needs. */
export interface JournalContext {
  readonly invocationId: string;
  readonly session: { readonly events: readonly Event[] };
  readonly journal: JournalRange;
  readonly branch: string | undefined;
  /** The path of the workflow run to which the running agent belongs; see `WithNodeInfo`. */
  readonly path: string | undefined;
  readonly agent: { readonly name: string };
  readonly runConfig: { readonly pauseOnToolCalls?: boolean | undefined };
}

/**
 * Finds the journal of an invocation. An answer to a pending call starts an invocation of its own, but
 * continues the work of the invocation that made the call. So the journal holds all invocations that
 * questions and answers tie together.
 */
export function journalRange(events: readonly Event[], invocationId: string): JournalRange {
  return logIndex(events).tiedTo(invocationId);
}

/** Returns the events of a journal that are visible on the reader's branch. */
function eventsOf({ session, branch, journal }: JournalContext): Event[] {
  const events = logIndex(session.events).ofInvocations(journal.invocations, journal.start);
  return events.filter((event) => isOnBranch(event.branch, branch));
}

/**
 * Returns the events that decide the running agent's next step: the committed events of the invocation on its
 * branch. For an agent that a workflow runs, these are the events of this run, the first message, and the
 * answers to the run's own calls.
 */
export function journalOf(context: JournalContext): Event[] {
  const { path } = context;
  const events = eventsOf(context);
  if (path === undefined) return events;
  const calls = new Set(
    events
      .filter((event) => isInPath(event, path))
      .flatMap((event) => getFunctionCalls(event).map(({ id }) => id)),
  );
  return events.filter((event) => {
    if (event.author !== 'user') return isInPath(event, path);
    const answers = getFunctionResponses(event);
    return answers.length === 0 || answers.some(({ id }) => calls.has(id));
  });
}

/**
 * A part of the journal: it begins when a person speaks, or when the conversation is transferred to the
 * agent.
 */
export interface Turn {
  /** The event that started the turn. */
  start: Event | undefined;
  events: Event[];
}

export function turnOf(context: JournalContext): Turn {
  const { journal: range, session } = context;
  const newest = session.events.at(-1);
  // Most turns are read first behind the message that starts them.
  const isMessage = newest?.author === 'user' && !newest.branch && getFunctionResponses(newest).length === 0;
  if (isMessage && session.events.length > range.start && range.invocations.has(newest.invocationId))
    return { start: newest, events: [] };
  const journal = journalOf(context);
  const at = journal.findLastIndex(
    ({ author, actions }) => author === 'user' || actions.transferToAgent === context.agent.name,
  );
  return { start: journal[at], events: journal.slice(at + 1) };
}

/**
 * Returns the long-running calls of the running agent, and of all agents that it runs, that still wait for
 * their answer. The first return value of a long-running tool does not close its call. A response with
 * `willContinue: true` is progress; a response with an explicit `false` is the tool's own outcome.
 */
export function openCallIds(context: JournalContext, events = journalOf(context)): string[] {
  const longRunning = events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
  if (longRunning.length === 0) return [];
  const index = logIndex(context.session.events);
  // Any later message may hold the answer, not only the messages of this journal.
  const isClosed = (id: string) =>
    index
      .responsesTo(id)
      .some(
        ({ event, response: { willContinue }, position }) =>
          position >= context.journal.start &&
          (willContinue === false || (event.author === 'user' && !willContinue)),
      );
  return longRunning.filter((id) => !isClosed(id));
}

/**
 * Tells whether the running agent's turn ended with a question to a person, or with calls that the client
 * makes. The agent's work is not done then. An agent that has transferred the conversation does not wait. An
 * agent with a pending long-running call does not wait either.
 */
export function isWaiting(context: JournalContext): boolean {
  const { agent, runConfig } = context;
  const ownEvents = turnOf(context).events.filter(
    (event) => stepAuthor(event) === agent.name && !event.partial,
  );
  if (ownEvents.some(({ actions }) => actions.transferToAgent !== undefined)) return false;
  const asking = ownEvents.findLast((event) => getFunctionCalls(event).length > 0);
  if (!asking) return false;
  const ids = new Set(openCallIds(context, [asking]));
  const open = getFunctionCalls(asking).filter(({ id = '' }) => ids.has(id));
  if (open.some(({ name }) => isQuestionName(name) || runConfig.pauseOnToolCalls)) return true;
  return clientCalls(asking, open, context).length > 0;
}

/**
 * Returns the newest message to an invocation in a session and the events after it. A continued invocation
 * has earlier messages too.
 */
export function newestRun(events: readonly Event[], invocationId: string): Event[] {
  const ownEvents = logIndex(events).ofInvocation(invocationId);
  return ownEvents.slice(
    Math.max(
      ownEvents.findLastIndex(({ author }) => author === 'user'),
      0,
    ),
  );
}

/**
 * Tells whether this run of an agent, by the workflow with that path, has already ended: when the workflow
 * went on to another agent, or when the run ended before the user's last message and no answer concerns the
 * run now.
 */
export function isRunOver(context: JournalContext, workflowPath: string | undefined): boolean {
  const { path, session, invocationId } = context;
  if (path === undefined || workflowPath === undefined) return false;
  const ownEvents = journalOf(context);
  if (!ownEvents.some(({ author }) => author !== 'user')) return false;
  if (ownEvents.at(-1)?.author === 'user') return false;
  const run = new Set(newestRun(session.events, invocationId));
  if (!ownEvents.some((event) => run.has(event))) return true;
  const last = eventsOf(context).findLast((event) => isInPath(event, workflowPath));
  return last !== undefined && !isInPath(last, path);
}

/**
 * Returns the committed events of the nth run of a child by this workflow; see `InvocationContext.startRun`.
 */
export function eventsOfRun(context: JournalContext, child: string, run: number): Event[] {
  const runPath = [context.path, run === 1 ? child : `${child}@${run}`]
    .filter((each) => each !== undefined)
    .join('.');
  return eventsOf(context).filter((event) => isInPath(event, runPath));
}

import type { Event } from '@agentmesh/protocol';
import { isInPath, isOnBranch } from '../events/agent-path.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isQuestionName } from '../events/question.ts';
import { stepAuthor } from './step-mark.ts';

/** Which part of a session's log is the journal of an invocation. */
export interface JournalRange {
  /** Index in `session.events` of its first event. */
  start: number;
  invocations: ReadonlySet<string>;
}

/** An invocation, as far as its journal is concerned. */
export interface JournalContext {
  readonly invocationId: string;
  readonly session: { readonly events: readonly Event[] };
  readonly journal: JournalRange;
  readonly branch: string | undefined;
  /** The run of a workflow that the running agent belongs to; see `WithNodeInfo`. */
  readonly path: string | undefined;
  readonly agent: { readonly name: string };
  readonly runConfig: { readonly pauseOnToolCalls?: boolean | undefined };
}

/**
 * An answer to a call that was left open starts an invocation of its own, but goes on with the work of the one that made the call. So
 * the journal is that of all invocations which questions and answers tie together.
 */
export function journalRange(events: readonly Event[], invocationId: string): JournalRange {
  return logIndex(events).tiedTo(invocationId);
}

/** The events of a journal that are on the branch of whoever reads. */
function eventsOf({ session, branch, journal }: JournalContext): Event[] {
  const events = logIndex(session.events).ofInvocations(journal.invocations, journal.start);
  return events.filter((event) => isOnBranch(event.branch, branch));
}

/**
 * What the running agent's next step follows from: the committed events of the invocation on its branch; for an agent that a workflow
 * runs, those of this run, with the message that started it all and the answers to its own calls.
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

/** A stretch of the journal: since a person spoke, or since the conversation was handed to the agent. */
export interface Turn {
  /** What started it. */
  start: Event | undefined;
  events: Event[];
}

export function turnOf(context: JournalContext): Turn {
  const journal = journalOf(context);
  const at = journal.findLastIndex(
    ({ author, actions }) => author === 'user' || actions.transferToAgent === context.agent.name,
  );
  return { start: journal[at], events: journal.slice(at + 1) };
}

/**
 * The long-running calls of the running agent, and of all that it runs, that still wait for their answer. What a tool itself returns is
 * only its first word; a response with `willContinue` is an intermediate one, and with an explicit `false` the tool's own last word.
 */
export function openCallIds(context: JournalContext, events = journalOf(context)): string[] {
  const longRunning = events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
  if (longRunning.length === 0) return [];
  const index = logIndex(context.session.events);
  // Any later message may have answered, not only those of this journal.
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
 * Tells whether the running agent's turn ended with a question to a person, or with calls that the client makes: its work is not done then. An agent that
 * has handed the conversation over does not wait, nor does one whose long-running call is open.
 */
export function isWaiting(context: JournalContext): boolean {
  const { agent, runConfig } = context;
  const own = turnOf(context).events.filter((event) => stepAuthor(event) === agent.name && !event.partial);
  if (own.some(({ actions }) => actions.transferToAgent !== undefined)) return false;
  const asking = own.findLast((event) => getFunctionCalls(event).length > 0);
  const open = new Set(asking ? openCallIds(context, [asking]) : []);
  return (
    asking !== undefined &&
    getFunctionCalls(asking).some(
      ({ id = '', name }) => open.has(id) && (isQuestionName(name) || runConfig.pauseOnToolCalls),
    )
  );
}

/** What came of the newest message to an invocation in a session, itself among it: one that is continued has had others before. */
export function newestRun(events: readonly Event[], invocationId: string): Event[] {
  const own = logIndex(events).ofInvocation(invocationId);
  return own.slice(
    Math.max(
      own.findLastIndex(({ author }) => author === 'user'),
      0,
    ),
  );
}

/**
 * Has this run of an agent, by the workflow with that path, ended before? It has when the workflow went on to something else, or when
 * it ended before the user spoke last and nothing that is answered now concerns it.
 */
export function isRunOver(context: JournalContext, workflowPath: string | undefined): boolean {
  const { path, session, invocationId } = context;
  if (path === undefined || workflowPath === undefined) return false;
  const own = journalOf(context);
  if (!own.some(({ author }) => author !== 'user')) return false;
  if (own.at(-1)?.author === 'user') return false;
  const run = new Set(newestRun(session.events, invocationId));
  if (!own.some((event) => run.has(event))) return true;
  const last = eventsOf(context).findLast((event) => isInPath(event, workflowPath));
  return last !== undefined && !isInPath(last, path);
}

/** What the nth run of a child by this workflow has committed; see `InvocationContext.startRun`. */
export function eventsOfRun(context: JournalContext, child: string, run: number): Event[] {
  const runPath = [context.path, run === 1 ? child : `${child}@${run}`]
    .filter((each) => each !== undefined)
    .join('.');
  return eventsOf(context).filter((event) => isInPath(event, runPath));
}

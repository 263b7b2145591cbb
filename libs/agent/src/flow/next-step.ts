import { type Event, MeshError } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import type { BaseAgent } from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isQuestionName } from '../events/question.ts';
import { clientCalls } from '../journal/client-input.ts';
import { turnOf } from '../journal/journal.ts';
import { endsTurn, hasOpenCode, isProgress, isStep, stepAuthor, stepMarkOf } from '../journal/step-mark.ts';
import { setModelResponseName } from '../prompt/output-schema.ts';
import { answeredCalls } from '../questions/questions.ts';
import { effectsId } from './call-events.ts';
import { transferToolName } from './transfer.ts';

/** The next step of an agent, as the log of the invocation decides it. */
export type Step =
  /** `behind`: id of the event that the step follows from; undefined when there is none. */
  | { kind: 'call-model'; behind: string | undefined }
  /** `answered`: a person has answered the questions for which these calls waited. */
  | { kind: 'call-tools'; event: Event; calls: FunctionCall[]; answered?: true }
  | { kind: 'run-code'; event: Event }
  | { kind: 'transfer'; to: string }
  | { kind: 'done' };

/** A step that the agent takes itself. */
export type WorkStep = Exclude<Step, { kind: 'transfer' | 'done' }>;

/**
 * Determines the next step from the committed events alone, so any process can continue where another process
 * stopped. Work that has its result in the log is not repeated.
 *
 * @param behind id of the last step that this run of the agent has taken; undefined before the first. Behind it only
 * the agent's own steps count: copies of them that user code has made are not the words of another agent
 */
export function nextStep(context: InvocationContext, behind?: string): Step {
  const { agent, session } = context;
  const newest = session.events.at(-1);
  // Nothing else can have come in between: neither an answer nor a transfer.
  if (newest && newest.id === behind && newest.actions.transferToAgent === undefined && !stepMarkOf(newest))
    return stepAtCalls(newest, context) ?? stepBehind(newest, agent);
  const isUnderWay = behind !== undefined;
  const { start, events } = turnOf(context);
  const speaker = handedTo(events) ?? askerOf(start, context);
  if (speaker !== undefined && speaker !== agent.name) return { kind: 'transfer', to: speaker };
  const answered = answeredCalls(context);
  if (answered) return { kind: 'call-tools', ...answered, answered: true };
  const isOwnStep = (event: Event) => !isUnderWay || stepAuthor(event) === agent.name;
  const steps = events.filter(
    (event) => isStep(event) && !isProgress(event) && isOfThisRun(event, context) && isOwnStep(event),
  );
  const last = steps.at(-1) ?? start;
  const isOwn = last !== undefined && stepAuthor(last) === agent.name && last !== start;
  if (isOwn && stepMarkOf(last)?.ends) return { kind: 'done' };
  const modelStep: Step = { kind: 'call-model', behind: last?.id };
  if (last === undefined) return modelStep;
  return stepAtCalls(last, context) ?? (isOwn ? stepBehind(last, agent) : modelStep);
}

/**
 * Returns what a step follows from, for the comparison with the next step of the same run. A step follows only from
 * something new: without it the agent would take the same step for ever.
 *
 * @throws MeshError `failed_precondition` when the step follows from the same as the step before
 */
export function newBasis(agent: string, step: WorkStep, before: string | undefined): string {
  const calls = step.kind === 'call-tools' ? step.calls.map(({ id }) => id) : [];
  const basis = JSON.stringify([step.kind, step.kind === 'call-model' ? step.behind : step.event.id, calls]);
  if (basis !== before) return basis;
  const what = step.kind === 'call-model' ? 'call its model with the same request' : 'take the same step';
  throw new MeshError(
    'failed_precondition',
    `agent ${agent} would ${what} again, because its last step left no event that it can see: look at the code that changes its events or the session`,
  );
}

/**
 * Returns the next step when the last event holds calls, responses or questions: run the remaining calls, or
 * wait. Returns undefined when all calls have their responses.
 */
function stepAtCalls(last: Event, context: InvocationContext): Step | undefined {
  const asking = callsBehind(last, context);
  if (!asking) return undefined;
  const unanswered = unansweredCalls(asking, context);
  if (isClients(unanswered, context)) return { kind: 'done' };
  const ofClient = clientCalls(asking, unanswered, context);
  const calls = stepAuthor(last) === context.agent.name ? callsToMake(asking, unanswered, context) : [];
  const ownCalls = calls.filter((call) => !ofClient.includes(call));
  if (ownCalls.length > 0) return { kind: 'call-tools', event: asking, calls: ownCalls };
  return ofClient.length > 0 || isWaiting(asking, context) ? { kind: 'done' } : undefined;
}

/** Returns the next step after an event of the agent's own. */
function stepBehind(last: Event, agent: BaseAgent): Step {
  if (getFunctionCalls(last).length > 0) return { kind: 'done' };
  if (hasOpenCode(agent, last)) return { kind: 'run-code', event: last };
  return endsTurn(agent, last) ? { kind: 'done' } : { kind: 'call-model', behind: last.id };
}

/**
 * Tells whether an event belongs to this run of the flow. A subclass of the agent may yield events of its
 * own, and run the flow more than once in a turn.
 */
function isOfThisRun(event: Event, { agent, flowRun }: InvocationContext): boolean {
  if (stepAuthor(event) !== agent.name) return true;
  const { isOwnCode, run = 1 } = stepMarkOf(event) ?? {};
  return !isOwnCode && run === flowRun;
}

function handedTo(events: readonly Event[]): string | undefined {
  return events.findLast(({ actions }) => actions.transferToAgent !== undefined)?.actions.transferToAgent;
}

/** Returns the agent that gets an answer: the agent that asked, if it is below this agent. */
function askerOf(start: Event | undefined, { agent, session }: InvocationContext): string | undefined {
  const answered = start?.author === 'user' ? getFunctionResponses(start).map(({ id }) => id) : [];
  if (answered.length === 0) return undefined;
  const asking = logIndex(session.events).lastCallOf(answered);
  const author = asking && stepAuthor(asking);
  const asker = author === undefined ? undefined : agent.findSubAgent(author);
  return asker && entryTo(asker, agent);
}

/**
 * Returns the agent to run for an asking agent below another agent: the outermost workflow between the two,
 * or the asking agent itself.
 */
function entryTo(asker: BaseAgent, above: BaseAgent): string {
  let entry = asker;
  for (let agent = asker.parentAgent; agent && agent !== above; agent = agent.parentAgent) {
    if (agent.orchestrates) entry = agent;
  }
  return entry.name;
}

/** Returns the event with the calls that this event makes, answers or asks about. */
function callsBehind(event: Event, { agent, session }: InvocationContext): Event | undefined {
  const calls = getFunctionCalls(event);
  const responses = getFunctionResponses(event);
  if (calls.length + responses.length === 0) return undefined;
  const isCalling = calls.some(({ name }) => !isQuestionName(name));
  if (isCalling && stepAuthor(event) === agent.name) return event;
  const index = logIndex(session.events);
  const ids = [...responses.map(({ id }) => id), ...index.questionsIn(event).map(({ callId }) => callId)];
  return index.lastCallOf(ids, (each) => stepAuthor(each) === agent.name);
}

/**
 * Returns the calls to run: the calls without a response that wait for nobody. A long-running call without a
 * first result counts as made when the other calls of its event have their responses.
 */
function callsToMake(
  asking: Event,
  unanswered: readonly FunctionCall[],
  context: InvocationContext,
): FunctionCall[] {
  if (unanswered.length === 0) return [];
  const index = logIndex(context.session.events);
  const wereMade = unanswered.length < getFunctionCalls(asking).length || index.has(effectsId(asking));
  return unanswered.filter(
    ({ id = '' }) => !index.isWaiting(id) && !(wereMade && asking.longRunningToolIds?.includes(id)),
  );
}

function unansweredCalls(asking: Event, { session }: InvocationContext): FunctionCall[] {
  const index = logIndex(session.events);
  const isAnswered = ({ id }: FunctionCall) =>
    index.responsesTo(id).some(({ response }) => response.willContinue !== true);
  return getFunctionCalls(asking).filter((call) => !isAnswered(call));
}

function isWaiting(asking: Event, { session }: InvocationContext): boolean {
  const index = logIndex(session.events);
  return getFunctionCalls(asking).some(({ id }) => index.isWaiting(id));
}

/** Tells whether the framework provides the tool and runs it itself. */
export function isFrameworkTool(name: string | undefined): boolean {
  return name === transferToolName || name === setModelResponseName;
}

/** Tells whether no tool of a client may have this name: the framework uses it. */
export function isReservedName(name: string): boolean {
  return isFrameworkTool(name) || isQuestionName(name);
}

/** Tells whether the client runs some of these calls. The framework's own tools always run here. */
function isClients(calls: readonly FunctionCall[], { runConfig }: InvocationContext): boolean {
  return runConfig.pauseOnToolCalls && calls.some(({ name }) => !isFrameworkTool(name));
}

import { type Event, type EventActions, MeshError } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse, Part } from '@google/genai';
import { passToParent } from '../base/agent-callbacks.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { Context } from '../base/context.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { originOf } from '../base/readonly-context.ts';
import { copyJson } from '../events/copy-json.ts';
import { createEvent, createEventActions, hasEffect, mergeEventActions } from '../events/event.ts';
import { interleave, withEmitted } from '../events/interleave.ts';
import { logIndex } from '../events/log-index.ts';
import { problemOfArgs } from '../models/answers/call-arguments.ts';
import { toolsFor } from '../prompt/request-tools.ts';
import {
  type AskingCall,
  answersTo,
  type CallAnswers,
  confirmationEvent,
  credentialEvent,
  inputEvent,
} from '../questions/questions.ts';
import { toAnswerSchema } from '../schema/answer-schema.ts';
import { measure } from '../telemetry/measure.ts';
import type { StepTools } from './build-request.ts';
import type { LlmAgent } from './llm-agent.ts';
import { runTool, type ToolOutcome } from './run-tool.ts';
import { startToolSpan } from './spans.ts';
import { transferProblem } from './transfer.ts';

export interface ToolCalls {
  /** The event that holds the calls. */
  event: Event;
  calls: readonly FunctionCall[];
  tools: StepTools;
  /** True when another process began these calls and did not finish them. */
  resumed: boolean;
}

interface CallOutcome extends AskingCall {
  part: Part | undefined;
}

/**
 * Runs the calls of one model turn, at the same time unless the agent is sequential. Yields the progress of
 * the tools, and then one event with their responses in the order of the calls. When all calls are
 * long-running without a first result, the event has no content and is yielded only if the calls changed
 * state or actions.
 */
export async function* callTools(
  agent: LlmAgent,
  context: InvocationContext,
  step: ToolCalls,
): AsyncGenerator<Event, void, void> {
  const isParallel = agent.toolExecution === 'parallel' && step.calls.length > 1;
  const makeCalls = isParallel ? allAtOnce : oneByOne;
  const outcomes = yield* makeCalls(agent, context.with({ openActions: [] }), step);
  const signIn = credentialEvent(context, outcomes);
  if (signIn) yield signIn;
  const confirmation = confirmationEvent(context, outcomes);
  if (confirmation) yield confirmation;
  const input = inputEvent(context, outcomes);
  if (input) yield input;
  const outcomesToCommit = outcomes.flatMap(withoutQuestion);
  const parts = outcomesToCommit.flatMap(({ part }) => part ?? []);
  const actions = mergeEventActions(outcomesToCommit.map((each) => each.actions));
  passToParent(context, actions);
  if (parts.length > 0) yield responseEvent(context, parts, actions);
  else if (hasEffect(actions)) yield effectsEvent(context, step.event, actions);
}

type Outcomes = AsyncGenerator<Event, CallOutcome[], void>;

function allAtOnce(agent: LlmAgent, context: InvocationContext, step: ToolCalls): Outcomes {
  return interleave((failed) => {
    const abortSignal = context.abortSignal ? AbortSignal.any([context.abortSignal, failed]) : failed;
    const each = context.with({ abortSignal });
    return step.calls.map((call) => callOne(agent, each, step, call));
  });
}

/** Runs the calls in order. Each call sees the state that earlier calls wrote, in any process. */
async function* oneByOne(agent: LlmAgent, context: InvocationContext, step: ToolCalls): Outcomes {
  const outcomes: CallOutcome[] = [];
  for (const call of step.calls) outcomes.push(yield* callOne(agent, context, step, call));
  return outcomes;
}

/**
 * Makes the id of the event that holds the effects of calls without a response. The event records that the
 * calls were made.
 */
export function effectsId(callEvent: Pick<Event, 'id'>): string {
  return `${callEvent.id}/effects`;
}

function effectsEvent(context: InvocationContext, callEvent: Event, actions: EventActions): Event {
  const { content: _content, ...event } = responseEvent(context, [], actions);
  return { ...event, id: effectsId(callEvent) };
}

/**
 * Returns the part of an outcome for the event of the responses; the event of the call's question holds the
 * rest. A call that asks for a confirmation or an input has no response yet; a call that asks for a
 * credential has an interim response.
 */
function withoutQuestion(outcome: CallOutcome): CallOutcome[] {
  const { requestedToolConfirmations, requestedAuthConfigs, requestedInputs = {} } = outcome.actions;
  const id = outcome.call.id ?? '';
  if (Object.hasOwn(requestedToolConfirmations, id) || Object.hasOwn(requestedInputs, id)) return [];
  if (!Object.hasOwn(requestedAuthConfigs, id)) return [outcome];
  return [{ ...outcome, actions: createEventActions({ requestedAuthConfigs }) }];
}

async function* callOne(
  agent: LlmAgent,
  invocation: InvocationContext,
  { event, tools, resumed }: ToolCalls,
  call: FunctionCall,
): AsyncGenerator<Event, CallOutcome, void> {
  const { id, name = '' } = call;
  // Callbacks and tools may change their arguments; the log must not change.
  const args = copyJson(call.args ?? {});
  const actions = createEventActions();
  invocation.openActions.push(actions);
  const respond = (response: Record<string, unknown>, willContinue?: boolean): Part => ({
    functionResponse: {
      ...(id !== undefined && { id }),
      name,
      response,
      ...(willContinue !== undefined && { willContinue }),
    },
  });
  const toolsDict = toolsFor(event, tools.toolsDict);
  const tool = toolsDict[name];
  if (!tool) {
    const names = Object.keys(toolsDict).join(', ') || 'none';
    return { part: respond({ error: `there is no tool "${name}"; the tools are: ${names}` }), actions, call };
  }
  const unreadable = problemOfArgs(call.args);
  if (unreadable !== undefined)
    return { part: respond({ error: `tool ${name}: ${unreadable}` }), actions, call };
  if (resumed && tool.isLongRunning && !tool.isIdempotent) {
    const progress = lastProgress(invocation, id);
    return { part: respond(interrupted(progress), progress && false), actions, call };
  }
  const answers = copyJson(answersTo(invocation.session.events, id));
  if (answers.expired) return { part: respond(answers.expired), actions, call };
  const conversation: Conversation = {
    ...(id !== undefined && { functionCallId: id }),
    functionCallEventId: event.id,
    ...answers,
    actions,
    invocation,
    report: (progress, n) => ({
      ...responseEvent(invocation, [respond(progress, true)], createEventActions()),
      ...(id !== undefined && { id: progressId(id, n, answers.answers) }),
    }),
  };
  const { response, isLastWord, failed } = yield* invocation.runConfig.streamingMode === 'sse'
    ? withEmitted<Event, ToolOutcome>((observe) =>
        converse(agent, tool, args, { ...conversation, invocation: invocation.with({ observe }) }),
      )
    : converse(agent, tool, args, conversation);
  const problem = transferProblem(agent, invocation, tools.targets, actions.transferToAgent);
  if (problem) {
    delete actions.transferToAgent;
    return { part: respond({ error: `tool ${name}: ${problem}` }), actions, call };
  }
  const closes = tool.isLongRunning && isLastWord ? false : undefined;
  keepOwnQuestions(actions, failed ? undefined : id);
  const unclear = questionProblem(actions);
  if (unclear !== undefined) {
    keepOwnQuestions(actions, undefined);
    return { part: respond({ error: `tool ${name}: ${unclear}` }), actions, call };
  }
  const { answerWithinMs } = tool;
  if (response) return { part: respond(response, closes), actions, call, answerWithinMs };
  // A confirmed call without a first result gets a response anyway, because otherwise it would be called
  // again.
  return { part: answers.answers > 0 ? respond({ status: 'pending' }) : undefined, actions, call };
}

/**
 * Makes the id of the event for a call's nth progress. The event has this id whichever way the progress
 * arrives, so it is committed once. Each answer starts a new count, because the call runs again with the
 * answer.
 */
export function progressId(callId: string, n: number, answers = 0): string {
  return [callId, 'progress', ...(answers > 0 ? [answers] : []), n].join('/');
}

/**
 * Checks the schemas of a tool's questions. A question of a remote tool may come from any program, and nobody
 * could answer a question whose schema cannot be read.
 */
function questionProblem({
  requestedToolConfirmations,
  requestedInputs = {},
}: EventActions): string | undefined {
  try {
    for (const { payloadSchema } of Object.values(requestedToolConfirmations))
      if (payloadSchema) toAnswerSchema(payloadSchema, 'payloadSchema');
    for (const { responseSchema } of Object.values(requestedInputs))
      if (responseSchema) toAnswerSchema(responseSchema, 'responseSchema');
    return undefined;
  } catch (error) {
    return MeshError.from(error).message;
  }
}

/**
 * Deletes the questions that a call asks in the name of another call: an answer to such a question would
 * approve the other call.
 */
function keepOwnQuestions(actions: EventActions, id: string | undefined): void {
  const { requestedToolConfirmations, requestedAuthConfigs, requestedInputs = {} } = actions;
  for (const requests of [requestedToolConfirmations, requestedAuthConfigs, requestedInputs]) {
    for (const key of Object.keys(requests)) if (key !== id) delete requests[key];
  }
}

interface Conversation extends CallAnswers {
  functionCallId?: string;
  functionCallEventId: string;
  actions: EventActions;
  invocation: InvocationContext;
  report(progress: Record<string, unknown>, n: number): Event;
}

/** Runs the tool. Each progress event is committed before the tool continues. */
async function* converse(
  agent: LlmAgent,
  tool: BaseTool,
  args: Record<string, unknown>,
  { invocation, report, ...options }: Conversation,
): AsyncGenerator<Event, ToolOutcome, void> {
  using span = startToolSpan(tool, invocation, options.functionCallId, args);
  const time = measure('agentmesh.tool.duration', { agent: agent.name, name: tool.name });
  const context = new Context(originOf(span?.invocation ?? invocation), options);
  const run = runTool(tool, args, context, agent);
  try {
    for (let n = 1; ; n += 1) {
      const step = await run.next();
      if (step.done) {
        const { failed, response } = step.value;
        time.end(failed ? 'failed' : response ? 'completed' : 'pending');
        span?.end(step.value);
        return step.value;
      }
      yield report(step.value, n);
    }
  } catch (thrown) {
    if (!invocation.abortSignal?.aborted) time.end('failed');
    span?.fail(thrown);
    throw thrown;
  } finally {
    await run.return({ response: undefined, isLastWord: false });
  }
}

function responseEvent(
  { invocationId, agent, branch }: InvocationContext,
  parts: Part[],
  actions: EventActions,
): Event {
  return createEvent({
    invocationId,
    author: agent.name,
    ...(branch !== undefined && { branch }),
    content: { role: 'user', parts },
    actions,
  });
}

function lastProgress(
  { session, journal }: InvocationContext,
  id: string | undefined,
): FunctionResponse['response'] {
  const responses = logIndex(session.events).responsesTo(id);
  return responses.findLast(({ response, position }) => position >= journal.start && response.willContinue)
    ?.response.response;
}

/**
 * Makes the response to an interrupted call. Its work may still be going on, so the call is not repeated: the
 * model is told and can ask.
 */
function interrupted(lastUpdate: Record<string, unknown> | undefined): Record<string, unknown> {
  return {
    status: 'interrupted',
    message:
      'The process that made this call ended before the tool answered. It was not called again: the work may have been started or not.',
    ...(lastUpdate && { lastUpdate }),
  };
}

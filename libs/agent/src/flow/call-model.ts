import { type Event, type EventActions, failSpan, type RunConfig } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import type { LlmRequest, LlmResponse } from '../base/base-llm.ts';
import { firstResult } from '../base/callbacks.ts';
import { Context } from '../base/context.ts';
import { toError } from '../base/failure.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { originOf } from '../base/readonly-context.ts';
import { takeCode } from '../code-executors/run-code.ts';
import { compactContext } from '../compaction/compact-context.ts';
import { compactorsFor } from '../compaction/prompt-view.ts';
import { copyJson } from '../events/copy-json.ts';
import { setDeadlines } from '../events/deadlines.ts';
import type { Emit } from '../events/emit.ts';
import {
  createEvent,
  createEventActions,
  getFunctionCalls,
  newFunctionCallId,
  overLimitCode,
} from '../events/event.ts';
import { hasData } from '../events/part-data.ts';
import { isQuestionName } from '../events/question.ts';
import { readAnswer } from '../models/answers/answer.ts';
import { problemOfArgs } from '../models/answers/call-arguments.ts';
import { describeFailure } from '../models/http/model-failure.ts';
import { agreeOnTools, markWithheld, offerOf } from '../prompt/request-tools.ts';
import { measure } from '../telemetry/measure.ts';
import { buildRequest, type StepTools } from './build-request.ts';
import type { LlmAgent } from './llm-agent.ts';
import { isFrameworkTool } from './next-step.ts';
import { settleOutput } from './output.ts';
import { noteAnswer, startModelSpan } from './spans.ts';

/**
 * Calls the agent's model once and emits its answer: pieces as partial events, then the event to commit.
 *
 * @param noteRequest may refuse the request by throwing
 */
export async function callModel(
  agent: LlmAgent,
  context: InvocationContext,
  tools: StepTools,
  noteRequest: (request: LlmRequest) => void,
  emit: Emit<Event>,
): Promise<void> {
  if (compactorsFor(agent, context).length > 0) await compactContext(agent, context, emit);
  // All events of a step share the state and the actions that its callbacks write.
  const actions = createEventActions();
  const callbackContext = new Context(originOf(context), { actions });
  const request = await buildRequest(agent, context, callbackContext, tools);
  const { pluginManager } = context;
  const isHeard = agent.beforeModelCallback !== undefined || pluginManager.has('beforeModelCallback');
  const offer = isHeard ? offerOf(request) : undefined;
  const place = { plugins: pluginManager, agent, context: callbackContext };
  const ofPlugins = { callbackContext, llmRequest: request };
  const ofAgent = { context: callbackContext, request };
  const replacement = await firstResult(place, 'beforeModelCallback', ofPlugins, ofAgent);
  const stepTools = tools.toolsDict;
  // The calls of the answer are made with the tools of the request.
  tools.toolsDict = agreeOnTools(request, offer, context.runConfig);
  const finish = (response: LlmResponse) => {
    const event = toEvent(agent, context, tools, response, actions);
    markWithheld(event, stepTools, tools.toolsDict);
    return emit(event);
  };
  if (replacement) return await finish(asReplacement(replacement));
  noteRequest(request);
  const pass = async (response: LlmResponse) => {
    const replaced = await firstResult(
      place,
      'afterModelCallback',
      { callbackContext, llmResponse: response },
      { context: callbackContext, response },
    );
    await finish(replaced ? asReplacement(replaced, response.partial) : response);
  };
  const refusal = await countCall(context);
  if (refusal) return await finish(refusal);
  const { response, failed } = await askModel(agent, context, callbackContext, request, pass);
  await (failed ? finish(response) : pass(response));
}

/**
 * Checks a response that a callback returned in place of the model's. A response without content becomes an
 * error, because the agent could not continue from it. What replaces a piece is a piece, and what replaces a whole
 * answer is whole, because an answer is one event.
 */
function asReplacement(response: LlmResponse, partial?: boolean): LlmResponse {
  // The callback may return the same object again.
  const { partial: _partial, ...whole } = typeof response === 'object' ? copyJson(response) : {};
  if (partial) return { ...whole, partial };
  if (whole.errorCode !== undefined || whole.content?.parts?.some(hasData)) return whole;
  const { content: _empty, ...rest } = whole;
  return {
    ...rest,
    errorCode: 'EMPTY_RESPONSE',
    errorMessage: 'a callback replaced the answer of the model by an empty one; return content',
  };
}

/**
 * Calls the model: emits the pieces of its answer, and returns the answer. A failure ends the agent's turn with an
 * error event, which callbacks cannot change; the run itself continues to its end.
 */
async function askModel(
  agent: LlmAgent,
  invocation: InvocationContext,
  context: Context,
  request: LlmRequest,
  emit: Emit<LlmResponse>,
): Promise<{ response: LlmResponse; failed?: boolean }> {
  const { abortSignal, runConfig } = invocation;
  const span = startModelSpan(invocation, request, agent.llm);
  const time = measure('agentmesh.model.duration', { agent: agent.name, model: request.model });
  // The failure of a piece's reader is no failure of the model.
  let failure: { thrown: unknown } | undefined;
  const emitPiece = (piece: LlmResponse) =>
    emit(piece).catch((thrown) => {
      failure = { thrown };
      throw thrown;
    });
  try {
    const options = { stream: runConfig.streamingMode === 'sse', signal: abortSignal };
    const response = await readAnswer(agent.llm, request, options, emitPiece);
    noteAnswer(span, response);
    time.end(response.errorCode === undefined ? 'completed' : 'failed');
    return { response };
  } catch (thrown) {
    if (failure) throw failure.thrown;
    failSpan(span, thrown);
    abortSignal?.throwIfAborted();
    time.end('failed');
    return await replaceFailure(agent, invocation, context, request, thrown);
  } finally {
    span?.end();
  }
}

/** Reports a failure of the model, and asks the callbacks for an answer in its place. */
async function replaceFailure(
  agent: LlmAgent,
  { invocationId, session, onFailure, pluginManager }: InvocationContext,
  context: Context,
  request: LlmRequest,
  thrown: unknown,
): Promise<{ response: LlmResponse; failed?: boolean }> {
  const error = toError(thrown);
  const ids = { agent: agent.name, invocationId, sessionId: session.id };
  onFailure?.({ what: 'model', name: agent.llm.model, ...ids, error: thrown });
  const replacement = await firstResult(
    { plugins: pluginManager, agent, context },
    'onModelErrorCallback',
    { callbackContext: context, llmRequest: request, error },
    { context, request, error },
  );
  return replacement
    ? { response: asReplacement(replacement) }
    : { response: describeFailure(error), failed: true };
}

/** Counts a model call. The limits apply to the whole invocation: to all its agents, in all processes. */
async function countCall({ sessionService, ref, runConfig }: InvocationContext) {
  const { maxLlmCalls, maxTokens } = runConfig;
  const calls = await sessionService.invocations.countLlmCall(ref);
  if (maxLlmCalls > 0 && calls > maxLlmCalls)
    return overLimit(`may make ${maxLlmCalls} model calls and has made them`);
  if (maxTokens <= 0) return undefined;
  const { tokens } = await sessionService.invocations.get(ref);
  if (tokens < maxTokens) return undefined;
  return overLimit(`may use ${maxTokens} tokens and has used ${tokens}`);
}

function overLimit(what: string) {
  return { errorCode: overLimitCode, errorMessage: `the invocation ${what}` };
}

function toEvent(
  agent: LlmAgent,
  context: InvocationContext,
  { toolsDict }: StepTools,
  response: LlmResponse,
  actions: EventActions,
): Event {
  const { invocationId, branch, runConfig } = context;
  const open: string[] = [];
  const event = createEvent({
    ...response,
    longRunningToolIds: open,
    author: agent.name,
    invocationId,
    ...(branch !== undefined && { branch }),
    actions,
  });
  if (event.partial || takeCode(agent, context, event)) return event;
  refuseUnansweredCalls(event, runConfig);
  settleOutput(agent, event);
  const calls = getFunctionCalls(event);
  for (const call of calls) {
    // The ids of the model are always replaced: some models restart their numbering in every turn, and call ids
    // name results and sessions.
    call.id = newFunctionCallId();
    const { name = '', args } = call;
    const staysOpen =
      toolsDict[name]?.isLongRunning || (runConfig.pauseOnToolCalls && !isFrameworkTool(name));
    if (staysOpen && problemOfArgs(args) === undefined) open.push(call.id);
  }
  if (open.length > 0) setDeadlines(event, answerDeadlines(event, calls, toolsDict));
  return event;
}

/**
 * Turns an answer into an error that holds calls which nobody would answer: a question to a person that the framework
 * did not ask, and an unreadable call that the client makes, who could not tell the model.
 */
function refuseUnansweredCalls(event: Event, { pauseOnToolCalls }: RunConfig): void {
  const calls = getFunctionCalls(event);
  const question = calls.find(({ name }) => isQuestionName(name))?.name;
  const problems = pauseOnToolCalls ? calls.map(({ args }) => problemOfArgs(args)) : [];
  const problem = question
    ? `the model called ${question}, which is no tool`
    : problems.find((each) => each !== undefined);
  if (problem === undefined) return;
  delete event.content;
  event.errorCode = 'MALFORMED_FUNCTION_CALL';
  event.errorMessage = problem;
}

/** Returns the deadlines for the results of long-running calls, by call id. */
function answerDeadlines(
  { timestamp, longRunningToolIds = [] }: Event,
  calls: readonly FunctionCall[],
  toolsDict: StepTools['toolsDict'],
): Map<string, number> {
  const deadlines = new Map<string, number>();
  for (const { id = '', name = '' } of calls) {
    const withinMs = toolsDict[name]?.answerWithinMs;
    if (withinMs !== undefined && longRunningToolIds.includes(id)) deadlines.set(id, timestamp + withinMs);
  }
  return deadlines;
}

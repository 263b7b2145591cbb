import { type Event, type EventActions, MeshError } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse, Part } from '@google/genai';
import type { BaseTool } from '../base/base-tool.ts';
import { Context, type ContextOptions } from '../base/context.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { originOf } from '../base/readonly-context.ts';
import { copyJson } from '../events/copy-json.ts';
import { type Emit, inTurn, ReaderGone } from '../events/emit.ts';
import { createEventActions } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { problemOfArgs } from '../models/answers/call-arguments.ts';
import { toolsFor } from '../prompt/request-tools.ts';
import { type AskingCall, answersTo } from '../questions/questions.ts';
import { toAnswerSchema } from '../schema/answer-schema.ts';
import { measure } from '../telemetry/measure.ts';
import type { StepTools } from './build-request.ts';
import { progressId, responseEvent, responseTo } from './call-events.ts';
import type { LlmAgent } from './llm-agent.ts';
import { runTool } from './run-tool.ts';
import { startToolSpan } from './spans.ts';
import type { Json, ToolOutcome } from './tool-work.ts';
import { transferProblem } from './transfer.ts';

export interface ToolCalls {
  /** The event that holds the calls. */
  event: Event;
  calls: readonly FunctionCall[];
  tools: StepTools;
  /** True when another process began these calls and did not finish them. */
  resumed: boolean;
}

export interface CallOutcome extends AskingCall {
  part: Part | undefined;
}

/** Makes one call: finds its tool, runs the tool, and checks what it has asked for. */
export async function callOne(
  agent: LlmAgent,
  invocation: InvocationContext,
  { event, tools, resumed }: ToolCalls,
  call: FunctionCall,
  emit: Emit<Event>,
): Promise<CallOutcome> {
  const { id, name = '' } = call;
  const actions = createEventActions();
  invocation.openActions.push(actions);
  const end = (response: Json | undefined, willContinue?: boolean): CallOutcome => ({
    part: response && responseTo(call, response, willContinue),
    actions,
    call,
  });
  const refuse = (problem: string) => end({ error: `tool ${name}: ${problem}` });
  const toolsDict = toolsFor(event, tools.toolsDict);
  const tool = toolsDict[name];
  if (!tool) {
    const names = Object.keys(toolsDict).join(', ') || 'none';
    return end({ error: `there is no tool "${name}"; the tools are: ${names}` });
  }
  const unreadable = problemOfArgs(call.args);
  if (unreadable !== undefined) return refuse(unreadable);
  if (resumed && tool.isLongRunning && !tool.isIdempotent) {
    const progress = lastProgress(invocation, id);
    return end(interrupted(progress), progress && false);
  }
  const answers = copyJson(answersTo(invocation.session.events, id));
  if (answers.expired) return end(answers.expired);
  const options = {
    ...(id !== undefined && { functionCallId: id }),
    functionCallEventId: event.id,
    ...answers,
    actions,
  };
  const { response, isLastWord, failed } = await makeCall(agent, tool, invocation, call, options, emit);
  const problem = transferProblem(agent, invocation, tools.targets, actions.transferToAgent);
  if (problem) {
    delete actions.transferToAgent;
    return refuse(problem);
  }
  keepOwnQuestions(actions, failed ? undefined : id);
  const unclear = questionProblem(actions);
  if (unclear !== undefined) {
    keepOwnQuestions(actions, undefined);
    return refuse(unclear);
  }
  const closes = tool.isLongRunning && isLastWord ? false : undefined;
  if (response) return { ...end(response, closes), answerWithinMs: tool.answerWithinMs };
  // A confirmed call without a first result gets a response anyway, because otherwise it would be called
  // again.
  return end(answers.answers > 0 ? { status: 'pending' } : undefined);
}

/**
 * Runs the tool of a call, with its span and its time. Each progress is committed before the tool continues. The events
 * of an agent that the tool runs go out meanwhile.
 */
async function makeCall(
  agent: LlmAgent,
  tool: BaseTool,
  invocation: InvocationContext,
  call: FunctionCall,
  options: ContextOptions,
  emit: Emit<Event>,
): Promise<ToolOutcome> {
  // Callbacks and tools may change their arguments; the log must not change.
  const args = copyJson(call.args ?? {});
  using span = startToolSpan(tool, invocation, call.id, args);
  const time = measure('agentmesh.tool.duration', { agent: agent.name, name: tool.name });
  const sent = inTurn(emit);
  let observed = Promise.resolve();
  const observe = (event: Event) => {
    observed = sent(event);
    observed.catch(() => {});
  };
  const traced = span?.invocation ?? invocation;
  const isObserved = invocation.runConfig.streamingMode === 'sse';
  const context = new Context(originOf(isObserved ? traced.with({ observe }) : traced), options);
  let count = 0;
  const report = (progress: Json) => {
    count += 1;
    const part = responseTo(call, progress, true);
    const event = responseEvent(invocation, [part], createEventActions());
    if (call.id !== undefined) event.id = progressId(call.id, count, options.answers);
    return sent(event);
  };
  try {
    const outcome = await runTool(agent, tool, args, context, report);
    time.end(outcome.failed ? 'failed' : outcome.response ? 'completed' : 'pending');
    span?.end(outcome);
    await observed;
    return outcome;
  } catch (thrown) {
    if (thrown instanceof ReaderGone) throw thrown;
    if (!invocation.abortSignal?.aborted) time.end('failed');
    span?.fail(thrown);
    throw thrown;
  }
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

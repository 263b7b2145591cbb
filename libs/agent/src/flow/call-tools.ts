import { type Event, type EventActions, MeshError } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse, Part } from '@google/genai';
import { passToParent } from '../base/agent-callbacks.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { Context } from '../base/context.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { originOf } from '../base/readonly-context.ts';
import { createEvent, createEventActions, hasEffect, mergeEventActions } from '../events/event.ts';
import { interleave, withEmitted } from '../events/interleave.ts';
import { logIndex } from '../events/log-index.ts';
import {
  type AskingCall,
  answersTo,
  type CallAnswers,
  confirmationEvent,
  credentialEvent,
  inputEvent,
} from '../questions/questions.ts';
import { toAnswerSchema } from '../schema/answer-schema.ts';
import type { StepTools } from './build-request.ts';
import type { LlmAgent } from './llm-agent.ts';
import { runTool, type ToolOutcome } from './run-tool.ts';
import { transferProblem } from './transfer.ts';

export interface ToolCalls {
  /** The event that makes the calls. */
  event: Event;
  calls: readonly FunctionCall[];
  tools: StepTools;
  /** Another process made the calls and did not come to their end. */
  resumed: boolean;
}

interface CallOutcome extends AskingCall {
  part: Part | undefined;
}

/**
 * Makes the calls of one model turn, at the same time unless the agent says otherwise, and yields their responses as one event, in the order of the calls; before it, what
 * tools say while they are at work. When all of them are long-running and have no first result, the event has no content, and is yielded only to keep
 * what they changed.
 */
export async function* callTools(
  agent: LlmAgent,
  context: InvocationContext,
  step: ToolCalls,
): AsyncGenerator<Event, void, void> {
  const makeCalls = agent.toolExecution === 'sequential' ? oneByOne : allAtOnce;
  const outcomes = yield* makeCalls(agent, context, step);
  const signIn = credentialEvent(context, outcomes);
  if (signIn) yield signIn;
  const confirmation = confirmationEvent(context, outcomes);
  if (confirmation) yield confirmation;
  const input = inputEvent(context, outcomes);
  if (input) yield input;
  const made = outcomes.flatMap(withoutQuestion);
  const parts = made.flatMap(({ part }) => part ?? []);
  const actions = mergeEventActions(made.map((each) => each.actions));
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

/** Makes the calls in order. Each sees the state that those before it wrote, in whatever process they were made. */
async function* oneByOne(agent: LlmAgent, context: InvocationContext, step: ToolCalls): Outcomes {
  const outcomes: CallOutcome[] = [];
  for (const call of step.calls) outcomes.push(yield* callOne(agent, context, step, call));
  return outcomes;
}

/** Makes the id of the event that keeps the effects of calls without a response: it tells that the calls were made. */
export function effectsId(callEvent: Pick<Event, 'id'>): string {
  return `${callEvent.id}/effects`;
}

function effectsEvent(context: InvocationContext, callEvent: Event, actions: EventActions): Event {
  const { content: _content, ...event } = responseEvent(context, [], actions);
  return { ...event, id: effectsId(callEvent) };
}

/**
 * What of a call goes into the event of the responses. One that asked has done the rest in the event of its question: with a confirmation or an
 * input it has no response yet, with a credential only a first one.
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
  // Callbacks and tools may change what they are given; the log stays as it is.
  const args = structuredClone(call.args ?? {});
  const actions = createEventActions();
  const respond = (response: Record<string, unknown>, willContinue?: boolean): Part => ({
    functionResponse: {
      ...(id !== undefined && { id }),
      name,
      response,
      ...(willContinue !== undefined && { willContinue }),
    },
  });
  const tool = tools.toolsDict[name];
  if (!tool) {
    const known = Object.keys(tools.toolsDict).join(', ') || 'none';
    return { part: respond({ error: `there is no tool "${name}"; the tools are: ${known}` }), actions, call };
  }
  if (resumed && tool.isLongRunning && !tool.isIdempotent) {
    const progress = lastProgress(invocation, id);
    return { part: respond(interrupted(progress), progress && false), actions, call };
  }
  const answers = structuredClone(answersTo(invocation.session.events, id));
  if (answers.expired) return { part: respond(answers.expired), actions, call };
  const { response, isLastWord, failed } = yield* withEmitted<Event, ToolOutcome>((emit) =>
    converse(agent, tool, args, {
      ...(id !== undefined && { functionCallId: id }),
      functionCallEventId: event.id,
      ...answers,
      actions,
      invocation:
        invocation.runConfig.streamingMode === 'sse' ? invocation.with({ observe: emit }) : invocation,
      report: (progress, n) => ({
        ...responseEvent(invocation, [respond(progress, true)], createEventActions()),
        ...(id !== undefined && { id: progressId(id, n, answers.answers) }),
      }),
    }),
  );
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
  // What was confirmed and has no first result is noted nevertheless, or it would be called again.
  return { part: answers.answers > 0 ? respond({ status: 'pending' }) : undefined, actions, call };
}

/** Id of the event that a call's nth progress is: by whichever way it comes, it is one event. With each answer the call is made anew. */
export function progressId(callId: string, n: number, answers = 0): string {
  return [callId, 'progress', ...(answers > 0 ? [answers] : []), n].join('/');
}

/** What a tool elsewhere asks may come from any program: nobody could answer a schema that cannot be read. */
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

/** A call asks for itself: what it asks in another one's name would open that one's gate. */
function keepOwnQuestions(actions: EventActions, id: string | undefined): void {
  const { requestedToolConfirmations, requestedAuthConfigs, requestedInputs = {} } = actions;
  for (const asked of [requestedToolConfirmations, requestedAuthConfigs, requestedInputs]) {
    for (const key of Object.keys(asked)) if (key !== id) delete asked[key];
  }
}

interface Conversation extends CallAnswers {
  functionCallId?: string;
  functionCallEventId: string;
  actions: EventActions;
  invocation: InvocationContext;
  report(progress: Record<string, unknown>, n: number): Event;
}

/** Runs the tool; what it says on its way is committed before it goes on. */
async function* converse(
  agent: LlmAgent,
  tool: BaseTool,
  args: Record<string, unknown>,
  { invocation, report, ...options }: Conversation,
): AsyncGenerator<Event, ToolOutcome, void> {
  const run = runTool(tool, args, new Context(originOf(invocation), options), agent);
  try {
    for (let n = 1; ; n += 1) {
      const step = await run.next();
      if (step.done) return step.value;
      yield report(step.value, n);
    }
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
  const said = logIndex(session.events).responsesTo(id);
  return said.findLast(({ response, position }) => position >= journal.start && response.willContinue)
    ?.response.response;
}

/** Work that may go on somewhere must not be started twice behind everybody's back; the model is told and can ask. */
function interrupted(lastUpdate: Record<string, unknown> | undefined): Record<string, unknown> {
  return {
    status: 'interrupted',
    message:
      'The process that made this call ended before the tool answered. It was not called again: the work may have been started or not.',
    ...(lastUpdate && { lastUpdate }),
  };
}

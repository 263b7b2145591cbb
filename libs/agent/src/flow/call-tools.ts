import type { Event, EventActions } from '@agentmesh/protocol';
import { passToParent } from '../base/agent-callbacks.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { atOnce, type Emit } from '../events/emit.ts';
import { createEventActions, hasEffect, mergeEventActions } from '../events/event.ts';
import { confirmationEvent, credentialEvent, inputEvent } from '../questions/questions.ts';
import { effectsId, responseEvent } from './call-events.ts';
import { type CallOutcome, callOne, type ToolCalls } from './call-one.ts';
import type { LlmAgent } from './llm-agent.ts';

/**
 * Runs the calls of one model turn, at the same time unless the agent is sequential. Emits the progress of the tools
 * and their questions, and then one event with the responses in the order of the calls. When all calls are long-running
 * without a first result, the event has no content and is emitted only if the calls changed state or actions.
 */
export async function callTools(
  agent: LlmAgent,
  context: InvocationContext,
  step: ToolCalls,
  emit: Emit<Event>,
): Promise<void> {
  using _open = openActions(context);
  const isParallel = agent.toolExecution === 'parallel' && step.calls.length > 1;
  const outcomes = await (isParallel ? allAtOnce : oneByOne)(agent, context, step, emit);
  const isAsking = outcomes.some(({ actions }) => asks(actions));
  for (const questionEvent of isAsking ? [credentialEvent, confirmationEvent, inputEvent] : []) {
    const question = questionEvent(context, outcomes);
    if (question) await emit(question);
  }
  const outcomesToCommit = isAsking ? outcomes.flatMap(withoutQuestion) : outcomes;
  const parts = outcomesToCommit.flatMap(({ part }) => part ?? []);
  const actions = mergeEventActions(outcomesToCommit.map((each) => each.actions));
  passToParent(context, actions);
  if (parts.length > 0) await emit(responseEvent(context, parts, actions));
  else if (hasEffect(actions)) await emit(effectsEvent(context, step.event, actions));
}

/** Holds the actions of the calls until their step is committed, or has failed. */
function openActions({ openActions: actions }: InvocationContext): Disposable {
  return {
    [Symbol.dispose]() {
      actions.length = 0;
    },
  };
}

function allAtOnce(agent: LlmAgent, context: InvocationContext, step: ToolCalls, emit: Emit<Event>) {
  return atOnce<Event, CallOutcome>(emit, (sent, failed) => {
    const abortSignal = context.abortSignal ? AbortSignal.any([context.abortSignal, failed]) : failed;
    const each = context.with({ abortSignal });
    return step.calls.map((call) => callOne(agent, each, step, call, sent));
  });
}

/** Runs the calls in order. Each call sees the state that earlier calls wrote, in any process. */
async function oneByOne(agent: LlmAgent, context: InvocationContext, step: ToolCalls, emit: Emit<Event>) {
  const outcomes: CallOutcome[] = [];
  for (const call of step.calls) outcomes.push(await callOne(agent, context, step, call, emit));
  return outcomes;
}

function effectsEvent(context: InvocationContext, callEvent: Event, actions: EventActions): Event {
  const { content: _content, ...event } = responseEvent(context, [], actions);
  return { ...event, id: effectsId(callEvent) };
}

function asks({ requestedToolConfirmations, requestedAuthConfigs, requestedInputs }: EventActions): boolean {
  const requests = { ...requestedToolConfirmations, ...requestedAuthConfigs, ...requestedInputs };
  return Object.keys(requests).length > 0;
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

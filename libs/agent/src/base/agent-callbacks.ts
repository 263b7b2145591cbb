import type { Event, EventActions } from '@agentmesh/protocol';
import { createEvent, createEventActions, hasEffect } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isWaiting } from '../journal/journal.ts';
import { stepMarkOf } from '../journal/step-mark.ts';
import { firstResult } from './callbacks.ts';
import { Context } from './context.ts';
import type { InvocationContext } from './invocation-context.ts';
import { noteStep } from './note-step.ts';
import { originOf } from './readonly-context.ts';

/**
 * Returns the id of the event that a callback makes. The id follows from the run: an agent that continues
 * after a crash finds the event of its callback and does not yield it twice.
 */
function callbackEventId(
  { agent, path, invocationId }: InvocationContext,
  turnStart: Event | undefined,
  when: 'before' | 'after',
): string {
  return `${turnStart?.id ?? invocationId}/${path ?? agent.name}/${agent.name}/${when}`;
}

type AgentCallbackKind = 'beforeAgentCallback' | 'afterAgentCallback';

function hasCallbacks(kind: AgentCallbackKind, { agent, pluginManager }: InvocationContext): boolean {
  return agent[kind].length > 0 || pluginManager.has(kind);
}

/**
 * Calls the plugins, then the agent's own callbacks. Returns an event with the content that they return or
 * the state that they write.
 */
async function callAgentCallbacks(
  kind: AgentCallbackKind,
  context: InvocationContext,
  id: string,
): Promise<Event | undefined> {
  const { agent, branch, invocationId, pluginManager } = context;
  const actions = createEventActions();
  const callbackContext = new Context(originOf(context), { actions });
  const place = { plugins: pluginManager, agent, context: callbackContext };
  const content = await firstResult(place, kind, { agent, callbackContext }, callbackContext);
  passToParent(context, actions);
  if (!content && !hasEffect(actions)) return undefined;
  return createEvent({
    id,
    invocationId,
    author: agent.name,
    ...(branch !== undefined && { branch }),
    ...(content && { content: { ...content, role: content.role ?? 'model' } }),
    actions,
  });
}

/** Calls the callbacks before an agent's work, unless the agent has begun it: see {@link callAgentCallbacks}. */
export async function callBefore(
  context: InvocationContext,
  turnStart: Event | undefined,
  events: readonly Event[],
): Promise<Event | undefined> {
  // An event that the transferring agent's callback made last is not a step of this agent.
  if (events.some(({ author }) => turnStart?.author === 'user' || author !== turnStart?.author))
    return undefined;
  context.abortSignal?.throwIfAborted();
  if (!hasCallbacks('beforeAgentCallback', context)) return undefined;
  const id = callbackEventId(context, turnStart, 'before');
  const event = await callAgentCallbacks('beforeAgentCallback', context, id);
  if (event?.content && context.isFiltered) noteStep(context, event, true);
  return event;
}

/** Tells whether the callbacks before an agent's work have answered in its place, as the log shows. */
export function isAnswered(context: InvocationContext, turnStart: Event | undefined): boolean {
  const event = logIndex(context.session.events).get(callbackEventId(context, turnStart, 'before'));
  return event !== undefined && (Boolean(event.content) || stepMarkOf(event)?.ends === true);
}

/** Calls the callbacks after an agent's work, unless the agent waits or they were called before. */
export async function callAfter(
  context: InvocationContext,
  turnStart: Event | undefined,
): Promise<Event | undefined> {
  if (!hasCallbacks('afterAgentCallback', context)) return undefined;
  const id = callbackEventId(context, turnStart, 'after');
  if (isWaiting(context) || logIndex(context.session.events).has(id)) return undefined;
  return await callAgentCallbacks('afterAgentCallback', context, id);
}

/**
 * Turns an escalation into a transfer to the agent's parent, when the parent is an LLM agent (of this process
 * or of another process). A workflow that runs the agent handles the escalation itself. A requested transfer
 * takes precedence.
 */
export function passToParent(context: InvocationContext, actions: EventActions): void {
  const { agent, path, transfers } = context;
  if (!actions.escalate || actions.transferToAgent !== undefined) return;
  // The last step of the path is the agent that a workflow runs. Agents that it transfers to have the same
  // path.
  const step = path?.split('.').at(-1)?.split('@')[0];
  if (step === agent.name) return;
  const { parentAgent } = agent;
  // An agent that does not run its children itself is an LLM agent.
  const here = parentAgent?.orchestrates ? undefined : parentAgent?.name;
  const parent = parentAgent ? here : transfers?.parent?.(agent.name);
  if (parent !== undefined) actions.transferToAgent = parent;
}

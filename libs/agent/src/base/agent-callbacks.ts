import type { Event, EventActions } from '@agentmesh/protocol';
import { createEvent, createEventActions, hasEffect } from '../events/event.ts';
import { firstResult } from './callbacks.ts';
import { Context } from './context.ts';
import type { InvocationContext } from './invocation-context.ts';
import { originOf } from './readonly-context.ts';

/**
 * Returns the id of the event that a callback makes. The id follows from the run: an agent that continues
 * after a crash finds the event of its callback and does not yield it twice.
 */
export function callbackEventId(
  { agent, path, invocationId }: InvocationContext,
  turnStart: Event | undefined,
  when: 'before' | 'after',
): string {
  return `${turnStart?.id ?? invocationId}/${path ?? agent.name}/${agent.name}/${when}`;
}

/**
 * Calls the plugins, then the agent's own callbacks. Returns an event with the content that they return or
 * the state that they write.
 */
export async function callAgentCallbacks(
  kind: 'beforeAgentCallback' | 'afterAgentCallback',
  context: InvocationContext,
  id: string,
): Promise<Event | undefined> {
  const { agent, branch, invocationId, pluginManager } = context;
  const actions = createEventActions();
  const callbackContext = new Context(originOf(context), { actions });
  const content =
    (await pluginManager.run(kind, { agent, callbackContext })) ??
    (await firstResult(agent[kind], callbackContext, { callback: kind, context: callbackContext }));
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

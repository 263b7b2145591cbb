import type { Event, EventActions } from '@agentmesh/protocol';
import { createEvent, createEventActions, hasEffect } from '../events/event.ts';
import { firstResult } from './callbacks.ts';
import { Context } from './context.ts';
import type { InvocationContext } from './invocation-context.ts';
import { originOf } from './readonly-context.ts';

/**
 * The id of the event that a callback makes. It follows from the run, so that an agent that goes on after a crash finds what its callback said
 * and does not say it twice.
 */
export function callbackEventId(
  { agent, path, invocationId }: InvocationContext,
  turnStart: Event | undefined,
  when: 'before' | 'after',
): string {
  return `${turnStart?.id ?? invocationId}/${path ?? agent.name}/${agent.name}/${when}`;
}

/** Asks the plugins, then the agent. What they say becomes an event; so does what they only wrote to the state. */
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
    (await firstResult(agent[kind], callbackContext));
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
 * Makes an escalation a transfer to the agent's parent, where that is an LLM agent, in this process or elsewhere. A workflow that runs the agent
 * sees the escalation itself, and a transfer that was asked for comes first.
 */
export function passToParent(context: InvocationContext, actions: EventActions): void {
  const { agent, path, transfers } = context;
  if (!actions.escalate || actions.transferToAgent !== undefined) return;
  // The last step of the path is the agent that a workflow runs; those that it hands over to have the same path.
  const step = path?.split('.').at(-1)?.split('@')[0];
  if (step === agent.name) return;
  const { parentAgent } = agent;
  // An agent that does not run its children itself is an LLM agent.
  const here = parentAgent?.orchestrates ? undefined : parentAgent?.name;
  const parent = parentAgent ? here : transfers?.parent?.(agent.name);
  if (parent !== undefined) actions.transferToAgent = parent;
}

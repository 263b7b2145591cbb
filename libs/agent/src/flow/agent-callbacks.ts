import type { Event } from '@agentmesh/protocol';
import { firstResult } from '../callbacks.ts';
import { Context } from '../context.ts';
import { createEvent, createEventActions, hasEffect } from '../event.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { passToParent } from './escalate.ts';
import { originOf } from './origin.ts';

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

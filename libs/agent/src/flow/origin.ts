import type { ContextOrigin } from '../context.ts';
import type { InvocationContext } from '../invocation-context.ts';

/** Where the contexts of an agent's callbacks and tools stand. */
export function originOf(context: InvocationContext): ContextOrigin {
  const { invocationId, agent, session, userContent, abortSignal } = context;
  return { invocationId, agentName: agent.name, session, userContent, abortSignal, invocation: context };
}

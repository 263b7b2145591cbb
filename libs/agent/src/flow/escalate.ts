import type { EventActions } from '@agentmesh/protocol';
import type { InvocationContext } from '../invocation-context.ts';

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

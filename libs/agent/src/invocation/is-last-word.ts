import type { Event } from '@agentmesh/protocol';
import type { BaseAgent } from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { getFunctionResponses } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { endsTurn, isStep, stepMarkOf } from '../journal/step-mark.ts';

/**
 * Tells whether nothing can follow this event of the agent that speaks: the plain answer of a model, behind which no
 * code of the user runs. The run can then end in the same step in which the event is committed.
 */
export function isLastWord({ pluginManager }: InvocationContext, speaker: BaseAgent, event: Event): boolean {
  if (event.partial || !(speaker instanceof LlmAgent) || event.author !== speaker.name) return false;
  if (speaker.hasOwnCode || speaker.afterAgentCallback.length > 0) return false;
  if (pluginManager.has('onEventCallback') || pluginManager.has('afterAgentCallback')) return false;
  if (pluginManager.has('afterRunCallback')) return false;
  const { actions, errorCode, longRunningToolIds = [] } = event;
  if (errorCode !== undefined || actions.transferToAgent !== undefined || longRunningToolIds.length > 0)
    return false;
  if (stepMarkOf(event) !== undefined || getFunctionResponses(event).length > 0) return false;
  return isStep(event) && endsTurn(speaker, event);
}

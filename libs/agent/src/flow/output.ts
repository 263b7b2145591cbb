import { type Event, MeshError } from '@agentmesh/protocol';
import { getFunctionCalls, isFinalResponse, stringifyContent } from '../events/event.ts';
import { checkOutput, parseOutput, setModelResponseName } from '../prompt/output-schema.ts';
import type { LlmAgent } from './llm-agent.ts';

/**
 * Does what an agent's options say about its answer: brings it into the form of `outputSchema`, writes it to the state under `outputKey`.
 * An answer that does not fit is marked as an error, and not written.
 */
export function settleOutput(agent: LlmAgent, event: Event): void {
  if (agent.outputSchema) takeModelResponse(agent, event);
  const text = stringifyContent(event);
  if (!isFinalResponse(event) || text === '' || getFunctionCalls(event).length > 0) return;
  try {
    const answer = agent.outputSchema ? parseOutput(agent.outputSchema, text) : text;
    if (agent.outputKey !== undefined) event.actions.stateDelta[agent.outputKey] = answer;
  } catch (error) {
    event.errorCode = 'INVALID_OUTPUT';
    event.errorMessage = error instanceof Error ? error.message : String(error);
  }
}

/** A call that gives the answer, and fits, is the answer: the event then says it in words. */
function takeModelResponse({ outputSchema }: LlmAgent, event: Event): void {
  const [call, ...others] = getFunctionCalls(event);
  if (!outputSchema || call?.name !== setModelResponseName || others.length > 0) return;
  try {
    checkOutput(outputSchema, call.args);
  } catch (error) {
    // The tool of that name tells the model what is wrong.
    if (error instanceof MeshError) return;
    throw error;
  }
  const thoughts = (event.content?.parts ?? []).filter(({ thought }) => thought);
  event.content = { role: 'model', parts: [...thoughts, { text: JSON.stringify(call.args) }] };
  event.actions.skipSummarization = true;
}

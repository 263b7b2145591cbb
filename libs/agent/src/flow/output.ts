import { type Event, MeshError } from '@agentmesh/protocol';
import { getFunctionCalls, isFinalResponse, stringifyContent } from '../events/event.ts';
import { problemOfArgs } from '../models/answers/call-arguments.ts';
import { checkOutput, parseOutput, setModelResponseName } from '../prompt/output-schema.ts';
import type { LlmAgent } from './llm-agent.ts';

/**
 * Applies the agent's output options to an answer: checks it against `outputSchema`, and writes it to the
 * state under `outputKey`. An answer that does not fit is marked as an error and not written.
 */
export function settleOutput(agent: LlmAgent, event: Event): void {
  if (event.errorCode !== undefined) return;
  if (!agent.outputSchema && agent.outputKey === undefined) return;
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

/** Turns a call that gives a fitting answer into that answer: the event then holds it as text. */
function takeModelResponse({ outputSchema }: LlmAgent, event: Event): void {
  const [call, ...others] = getFunctionCalls(event);
  if (!outputSchema || call?.name !== setModelResponseName || others.length > 0) return;
  if (problemOfArgs(call.args) !== undefined) return;
  try {
    checkOutput(outputSchema, call.args);
  } catch (error) {
    // The tool `set_model_response` tells the model what is wrong.
    if (error instanceof MeshError) return;
    throw error;
  }
  const thoughts = (event.content?.parts ?? []).filter(({ thought }) => thought);
  event.content = { role: 'model', parts: [...thoughts, { text: JSON.stringify(call.args) }] };
  event.actions.skipSummarization = true;
}

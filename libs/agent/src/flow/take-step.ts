import type { Event } from '@agentmesh/protocol';
import type { InvocationContext } from '../base/invocation-context.ts';
import { runCode } from '../code-executors/run-code.ts';
import type { StepTools } from './build-request.ts';
import { callModel } from './call-model.ts';
import { callTools } from './call-tools.ts';
import { isFirstPart } from './hold-step.ts';
import type { LlmAgent } from './llm-agent.ts';
import type { WorkStep } from './next-step.ts';
import type { StepContexts, StepMemory } from './step-memory.ts';

/**
 * Takes a step of an agent and yields its events.
 *
 * @param resumed true when the step's calls were made before, perhaps by a process that died
 */
export function takeStep(
  agent: LlmAgent,
  step: WorkStep,
  memory: StepMemory,
  { forStep, forPrompt }: StepContexts,
  tools: StepTools,
  resumed: boolean,
): AsyncGenerator<Event, void, void> {
  if (step.kind === 'call-model')
    return callModel(agent, forPrompt, tools, (request) => memory.noteRequest(request));
  if (step.kind === 'run-code') return runCode(agent, forStep, step.event);
  return callTools(agent, forStep, { ...step, tools, resumed });
}

/**
 * Tells whether these calls run for the first time although another process has committed them: they waited
 * for a person, or for the process that commits a held step.
 */
export function isFirstTry(step: WorkStep, { attempt, held }: InvocationContext): boolean {
  const answered = step.kind === 'call-tools' && step.answered;
  return attempt === 1 && (answered === true || (held !== undefined && !isFirstPart(held)));
}

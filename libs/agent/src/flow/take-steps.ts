import { type Event, MeshError } from '@agentmesh/protocol';
import { runAgent } from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { runCode } from '../code-executors/run-code.ts';
import { breathe } from '../events/breathe.ts';
import type { Emit } from '../events/emit.ts';
import { createEvent } from '../events/event.ts';
import { isFirstPart } from '../journal/held-step.ts';
import { describeFailure, endsInvocation } from '../models/http/model-failure.ts';
import { resolveCalledTools, resolveTools, type StepTools } from './build-request.ts';
import { callModel } from './call-model.ts';
import { callTools } from './call-tools.ts';
import type { LlmAgent } from './llm-agent.ts';
import { newBasis, nextStep, type WorkStep } from './next-step.ts';
import { StepMemory } from './step-memory.ts';
import { remoteError } from './transfer.ts';

/** Runs the flow of an agent: takes its steps, each as the log decides it, until nothing is left to do. */
export async function takeSteps(
  agent: LlmAgent,
  parent: InvocationContext,
  emit: Emit<Event>,
): Promise<void> {
  const flowRun = parent.startFlow();
  const context = flowRun === 1 ? parent : parent.with({ flowRun });
  const memory = new StepMemory(context);
  let tools: StepTools | undefined;
  let basis: string | undefined;
  let last: string | undefined;
  const emitNoted = (event: Event) => {
    // Not behind the reader, who may change the event.
    if (memory.note(event)) last = event.id;
    return emit(event);
  };
  for (;;) {
    await breathe();
    const { forStep, forPrompt } = memory.contexts();
    const step = nextStep(forStep, last);
    if (step.kind === 'transfer') context.transferTo = step.to;
    if (step.kind === 'done' || step.kind === 'transfer') return;
    basis = newBasis(agent.name, step, basis);
    // Not earlier: after the last word nothing is left to abort.
    context.abortSignal?.throwIfAborted();
    // The step's calls were made before, perhaps by a process that died.
    const resumed = !tools && !isFirstTry(step, context);
    last = undefined;
    if (step.kind === 'call-tools') {
      tools ??= await resolveCalledTools(agent, context, step.calls);
      await callTools(agent, forStep, { ...step, tools, resumed }, emitNoted);
    } else {
      tools = await resolveTools(agent, context);
      if (step.kind === 'call-model')
        await callModel(agent, forPrompt, tools, (request) => memory.noteRequest(request), emitNoted);
      else await runCode(agent, forStep, step.event, emitNoted);
    }
    // All calls are pending: there is no event from which to continue.
    if (last === undefined || context.endInvocation) return;
  }
}

/**
 * Tells whether these calls run for the first time although another process has committed them: they waited
 * for a person, or for the process that commits a held step.
 */
function isFirstTry(step: WorkStep, { attempt, held }: InvocationContext): boolean {
  const answered = step.kind === 'call-tools' && step.answered;
  return attempt === 1 && (answered === true || (held !== undefined && !isFirstPart(held)));
}

/**
 * Runs the agent to which the conversation was transferred. When that agent fails, the model of this agent
 * is not called again.
 */
export async function runTarget(
  agent: LlmAgent,
  context: InvocationContext,
  emit: Emit<Event>,
): Promise<void> {
  const { transfers, transferTo } = context;
  // The after-agent callback may have transferred, too.
  const step = nextStep(context);
  const to = step.kind === 'transfer' ? step.to : transferTo;
  if (to === undefined) return;
  const inTree = agent.rootAgent.findAgent(to);
  if (!inTree || inTree.isRemote) {
    if (!transfers) throw remoteError(to);
    // Within a workflow, or when a caller waits for the answer, this process runs the target and continues
    // afterwards.
    if (context.path === undefined && transfers.handOver) return transfers.handOver(to);
  }
  const target = inTree ?? transfers?.remote(to);
  if (!target) throw remoteError(to);
  try {
    await target[runAgent](context, emit);
  } catch (error) {
    const isRetryable = error instanceof MeshError && error.retryable;
    if (context.abortSignal?.aborted || isRetryable || endsInvocation(error)) throw error;
    const { invocationId, branch } = context;
    const failure = describeFailure(error);
    await emit(
      createEvent({ invocationId, author: to, ...(branch !== undefined && { branch }), ...failure }),
    );
  }
}

import { MeshError } from '@agentmesh/protocol';
import { askPerson, isCredentialFailure, provideRequested, takeAnswers } from '../auth/credential-steps.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { firstResult } from '../base/callbacks.ts';
import type { Context } from '../base/context.ts';
import { type Failure, isCallersFault, toError } from '../base/failure.ts';
import { type Emit, ReaderGone } from '../events/emit.ts';
import { wellFormed } from '../events/well-formed.ts';
import type { LlmAgent } from './llm-agent.ts';
import { type Json, type ToolOutcome, workOf, wrapResult } from './tool-work.ts';

/**
 * Runs a tool with the callbacks of plugins and agent around it. The progress of a tool that is a generator goes to
 * `emit`. Returns a result as a JSON object, an error as a text. A tool that requests an available credential runs
 * again with that credential.
 *
 * @throws MeshError when credentials cannot be saved, or a server is unavailable
 */
export async function runTool(
  agent: LlmAgent,
  tool: BaseTool,
  args: Json,
  context: Context,
  emit: Emit<Json>,
): Promise<ToolOutcome> {
  const call = { tool, args, context };
  const pluginCall = { tool, toolArgs: args, toolContext: context };
  const place = { plugins: context.invocationContext?.pluginManager, agent, context, tool: tool.name };
  const fail = async (thrown: unknown): Promise<ToolOutcome> => {
    context.abortSignal?.throwIfAborted();
    const error = toError(thrown);
    if (error instanceof ReaderGone || isCredentialFailure(error)) throw error;
    context.credentials.requestedConfig = undefined;
    // The process of a remote tool has the stack and reports the failure itself.
    if (!tool.isRemote && !isCallersFault(error))
      context.services.onFailure?.(failureOf(tool, context, error));
    const replacement = await firstResult(
      place,
      'onToolErrorCallback',
      { ...pluginCall, error },
      { ...call, error },
    );
    const response = replacement ?? { error: toolErrorText(tool.name, error) };
    return { response: wellFormed(response), isLastWord: true, failed: true };
  };
  const attempt = async (): Promise<ToolOutcome> => {
    const replacement = await firstResult(place, 'beforeToolCallback', pluginCall, call);
    if (replacement) return { response: wrapResult(replacement), isLastWord: false };
    return await workOf(tool, args, context, emit).catch(fail);
  };
  const outcome = await withCredentials(tool, context, attempt, fail);
  // A call that waits for a person or for a credential has no result yet. A long-running tool without a first
  // result has ended all the same.
  if (!outcome.response && !tool.isLongRunning) return outcome;
  const response = outcome.response as Json;
  const ofPlugins = { ...pluginCall, result: response };
  const replaced = await firstResult(place, 'afterToolCallback', ofPlugins, { ...call, response });
  await askPerson(context, tool.isRemote);
  return replaced ? { ...outcome, response: wrapResult(replaced) } : outcome;
}

/**
 * Runs a tool with the answers of people to its call. When the tool requests a credential that is available
 * without a person, the tool runs again with that credential. Each credential is given once, so the loop
 * ends.
 *
 * @param fail makes the outcome of a call whose credential is refused; by default it throws
 */
export async function withCredentials(
  { isRemote }: Pick<BaseTool, 'isRemote'>,
  context: Context,
  attempt: () => Promise<ToolOutcome>,
  fail: (thrown: unknown) => Promise<ToolOutcome> = (thrown) => Promise.reject(thrown),
): Promise<ToolOutcome> {
  try {
    await takeAnswers(context, isRemote);
  } catch (thrown) {
    return await fail(thrown);
  }
  for (;;) {
    const outcome = await attempt();
    if (outcome.failed) return outcome;
    try {
      if (!(await provideRequested(context, isRemote))) return outcome;
    } catch (thrown) {
      return await fail(thrown);
    }
  }
}

/** Makes the failure report of a tool, for the operator of the process. */
export function failureOf({ name }: BaseTool, context: Context, error: unknown): Failure {
  const { agentName, invocationId, sessionId, functionCallId: callId } = context;
  const ids = { agent: agentName, invocationId, sessionId, ...(callId !== undefined && { callId }) };
  return { what: 'tool', name, ...ids, error };
}

/** Makes the error text that the model gets for a tool that threw. */
export function toolErrorText(tool: string, error: unknown): string {
  if (error instanceof MeshError && error.code === 'invalid_argument') return error.message;
  return `tool ${tool} failed: ${toError(error).message}`;
}

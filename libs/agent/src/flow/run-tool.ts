import { MeshError, unlessAborted } from '@agentmesh/protocol';
import { askPerson, isCredentialFailure } from '../auth/credential-steps.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { firstResult } from '../base/callbacks.ts';
import type { Context } from '../base/context.ts';
import { type Failure, isCallersFault } from '../base/failure.ts';
import type { LlmAgent } from './llm-agent.ts';
import { withCredentials } from './with-credentials.ts';

type Json = Record<string, unknown>;

/** How a call ended. */
export interface ToolOutcome {
  /** What the model is told; undefined for a long-running tool that has no first result. */
  response: Json | undefined;
  /** The tool worked until it had its last word: nobody else will answer. */
  isLastWord: boolean;
  /** It threw: what it had asked for before does not count. */
  failed?: true;
}

/**
 * Runs a tool with the callbacks of plugins and agent around it. Yields what a tool that is a generator says on its way. A result is given
 * as a JSON object, an error in words. A tool that asks for a credential which is there is run again with it.
 *
 * @throws MeshError when credentials cannot be kept, or a server of ours is away
 */
export async function* runTool(
  tool: BaseTool,
  args: Json,
  context: Context,
  agent?: LlmAgent,
): AsyncGenerator<Json, ToolOutcome, void> {
  const plugins = context.invocationContext?.pluginManager;
  const call = { tool, args, context };
  const pluginCall = { tool, toolArgs: args, toolContext: context };
  const fail = async (thrown: unknown): Promise<ToolOutcome> => {
    context.abortSignal?.throwIfAborted();
    if (isCredentialFailure(thrown)) throw thrown;
    context.credentials.wanted = undefined;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
    // The process of a tool elsewhere has the stack, and tells it itself.
    if (!tool.isRemote && !isCallersFault(thrown))
      context.services.onFailure?.(failureOf(tool, context, thrown));
    const mended =
      (await plugins?.run('onToolErrorCallback', { ...pluginCall, error })) ??
      (agent && (await firstResult(agent.callbacks.onToolErrorCallback, { ...call, error })));
    const response = mended ?? { error: toolErrorText(tool.name, error) };
    return { response, isLastWord: true, failed: true };
  };
  const attempt = async function* (): AsyncGenerator<Json, ToolOutcome, void> {
    const instead =
      (await plugins?.run('beforeToolCallback', pluginCall)) ??
      (agent && (await firstResult(agent.callbacks.beforeToolCallback, call)));
    if (instead) return { response: wrapResult(instead), isLastWord: false };
    try {
      return yield* executeTool(tool, args, context);
    } catch (thrown) {
      return await fail(thrown);
    }
  };
  const outcome = yield* withCredentials(tool, context, attempt, fail);
  // A call that waits for a person or for a credential has no result yet; a long-running tool without a first one has ended all the same.
  if (!outcome.response && !tool.isLongRunning) return outcome;
  const response = outcome.response as Json;
  const replaced =
    (await plugins?.run('afterToolCallback', { ...pluginCall, result: response })) ??
    (agent && (await firstResult(agent.callbacks.afterToolCallback, { ...call, response })));
  await askPerson(context, tool.isRemote);
  return replaced ? { ...outcome, response: wrapResult(replaced) } : outcome;
}

/**
 * Runs a tool without callbacks. Yields what a tool that is a generator says on its way; results are JSON objects.
 *
 * @throws what the tool throws
 */
export async function* executeTool(
  tool: BaseTool,
  args: Json,
  context: Context,
): AsyncGenerator<Json, ToolOutcome, void> {
  const { abortSignal } = context;
  const result = await unlessAborted(tool.runAsync({ args, toolContext: context }), abortSignal);
  if (!isGenerator(result)) return firstWord(tool, result);
  try {
    for (;;) {
      const step = await unlessAborted(Promise.resolve(result.next()), abortSignal);
      if (!step.done) yield wrapResult(step.value);
      else if (step.value instanceof FirstWord) return firstWord(tool, step.value.result);
      else return { response: wrapResult(step.value), isLastWord: true };
    }
  } finally {
    // Not waited for: a generator that hangs would hang its own end too.
    Promise.resolve(result.return?.()).catch(() => {});
  }
}

/** Returned by a generator that only passes on what another tool does: its result is that tool's first word, not its last. */
export class FirstWord {
  readonly result: unknown;

  constructor(result: unknown) {
    this.result = result;
  }
}

function firstWord({ isLongRunning }: BaseTool, result: unknown): ToolOutcome {
  const hasNone = isLongRunning && (result === undefined || result === null);
  return { response: hasNone ? undefined : wrapResult(result), isLastWord: false };
}

function isGenerator(value: unknown): value is AsyncIterator<unknown> | Iterator<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return (
    (Symbol.asyncIterator in value || Symbol.iterator in value) &&
    'next' in value &&
    typeof value.next === 'function'
  );
}

/**
 * Wraps what is no object under `result`, lists too. What the model, the log and every process see is the result as JSON has it.
 */
function wrapResult(result: unknown): Json {
  if (result instanceof Map || result instanceof Set || result instanceof Error) {
    throw new TypeError(
      `it returned a ${result.constructor.name}, which JSON cannot hold; return a plain object`,
    );
  }
  const text = JSON.stringify(result);
  const json: unknown = text === undefined ? null : JSON.parse(text);
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return isObject ? { ...json } : { result: json };
}

/** The failure of a tool for whoever operates the process. */
export function failureOf({ name }: BaseTool, context: Context, error: unknown): Failure {
  const { agentName, invocationId, sessionId, functionCallId: callId } = context;
  const ids = { agent: agentName, invocationId, sessionId, ...(callId !== undefined && { callId }) };
  return { what: 'tool', name, ...ids, error };
}

/** What a model is told of a tool that threw. */
export function toolErrorText(tool: string, error: unknown): string {
  if (error instanceof MeshError && error.code === 'invalid_argument') return error.message;
  return `tool ${tool} failed: ${error instanceof Error ? error.message : String(error)}`;
}

import { beginUnder, MeshError, toJson, unlessAborted } from '@agentmesh/protocol';
import { askPerson, isCredentialFailure } from '../auth/credential-steps.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { asList, firstResult } from '../base/callbacks.ts';
import type { Context } from '../base/context.ts';
import { type Failure, isCallersFault } from '../base/failure.ts';
import { wellFormed } from '../events/well-formed.ts';
import type { LlmAgent } from './llm-agent.ts';
import { isProgress, type ToolWork, withCredentials } from './with-credentials.ts';

type Json = Record<string, unknown>;

/** The result of a call. */
export interface ToolOutcome {
  /** The response for the model; undefined for a long-running tool without a first result. */
  response: Json | undefined;
  /** True when the response is final: the tool has finished its work, and no other answer will come. */
  isLastWord: boolean;
  /** Set when the tool threw. The questions that it asked before do not count then. */
  failed?: true;
}

/**
 * Runs a tool with the callbacks of plugins and agent around it. Yields the progress of a tool that is a
 * generator. Returns a result as a JSON object, an error as a text. A tool that requests an available
 * credential runs again with that credential.
 *
 * @throws MeshError when credentials cannot be saved, or a server is unavailable
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
  const about = { context, tool: tool.name };
  const fail = async (thrown: unknown): Promise<ToolOutcome> => {
    context.abortSignal?.throwIfAborted();
    if (isCredentialFailure(thrown)) throw thrown;
    context.credentials.requestedConfig = undefined;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
    // The process of a remote tool has the stack and reports the failure itself.
    if (!tool.isRemote && !isCallersFault(thrown))
      context.services.onFailure?.(failureOf(tool, context, thrown));
    const replacement =
      (await plugins?.run('onToolErrorCallback', { ...pluginCall, error })) ??
      (agent &&
        (await firstResult(
          asList(agent.onToolErrorCallback),
          { ...call, error },
          { callback: 'onToolErrorCallback', ...about },
        )));
    const response = replacement ?? { error: toolErrorText(tool.name, error) };
    return { response: wellFormed(response), isLastWord: true, failed: true };
  };
  const attempt = async (): Promise<ToolWork> => {
    const replacement =
      (await plugins?.run('beforeToolCallback', pluginCall)) ??
      (agent &&
        (await firstResult(asList(agent.beforeToolCallback), call, {
          callback: 'beforeToolCallback',
          ...about,
        })));
    if (replacement) return { response: wrapResult(replacement), isLastWord: false };
    try {
      const work = await beginTool(tool, args, context);
      return isProgress(work) ? orFailed(work, fail) : work;
    } catch (thrown) {
      return await fail(thrown);
    }
  };
  const outcome = yield* withCredentials(tool, context, attempt, fail);
  // A call that waits for a person or for a credential has no result yet. A long-running tool without a first
  // result has ended all the same.
  if (!outcome.response && !tool.isLongRunning) return outcome;
  const response = outcome.response as Json;
  const replaced =
    (await plugins?.run('afterToolCallback', { ...pluginCall, result: response })) ??
    (agent &&
      (await firstResult(
        asList(agent.afterToolCallback),
        { ...call, response },
        { callback: 'afterToolCallback', ...about },
      )));
  await askPerson(context, tool.isRemote);
  return replaced ? { ...outcome, response: wrapResult(replaced) } : outcome;
}

async function* orFailed(
  work: AsyncGenerator<Json, ToolOutcome, void>,
  fail: (thrown: unknown) => Promise<ToolOutcome>,
): AsyncGenerator<Json, ToolOutcome, void> {
  try {
    return yield* work;
  } catch (thrown) {
    return await fail(thrown);
  }
}

/**
 * Runs a tool without callbacks. Yields the progress of a tool that is a generator; results are JSON objects.
 *
 * @param carrier the headers that name the span of the call; default: those of the invocation
 * @throws any error of the tool
 */
export async function* executeTool(
  tool: BaseTool,
  args: Json,
  context: Context,
  carrier?: Readonly<Record<string, string>>,
): AsyncGenerator<Json, ToolOutcome, void> {
  const work = await beginTool(tool, args, context, carrier);
  return isProgress(work) ? yield* work : work;
}

async function beginTool(
  tool: BaseTool,
  args: Json,
  context: Context,
  carrier: Readonly<Record<string, string>> = context.invocationContext?.carrier ?? {},
): Promise<ToolWork> {
  const { abortSignal } = context;
  const running = beginUnder(carrier, () => tool.runAsync({ args, toolContext: context }));
  try {
    const result = await unlessAborted(running, abortSignal);
    if (isGenerator(result)) return progressOf(tool, result, context);
    checkState(context);
    return firstWord(tool, result);
  } catch (thrown) {
    dropUnfitState(context);
    throw thrown;
  }
}

async function* progressOf(
  tool: BaseTool,
  result: AsyncIterator<unknown> | Iterator<unknown>,
  context: Context,
): AsyncGenerator<Json, ToolOutcome, void> {
  try {
    for (;;) {
      const step = await unlessAborted(Promise.resolve(result.next()), context.abortSignal);
      if (step.done) checkState(context);
      if (!step.done) yield wrapResult(step.value);
      else if (step.value instanceof FirstWord) return firstWord(tool, step.value.result);
      else return { response: wrapResult(step.value), isLastWord: true };
    }
  } catch (thrown) {
    dropUnfitState(context);
    throw thrown;
  } finally {
    // The caller does not wait for the generator's end, because a generator that hangs would never end.
    Promise.resolve(result.return?.()).catch(() => {});
  }
}

/**
 * The return value of a generator that only forwards another tool's calls: it holds that tool's first
 * response, not its outcome.
 */
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
 * Converts a result to a JSON object. A value that is not an object, such as a list, goes under `result`. The
 * model, the log and every process see this JSON form.
 */
function wrapResult(result: unknown): Json {
  if (result instanceof Map || result instanceof Set || result instanceof Error) {
    throw new TypeError(
      `it returned a ${result.constructor.name}, which JSON cannot hold; return a plain object`,
    );
  }
  const text = JSON.stringify(result);
  const json: unknown = text === undefined ? null : wellFormed(JSON.parse(text));
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return isObject ? { ...json } : { result: json };
}

/** Refuses state that JSON cannot hold. */
function checkState(context: Context): void {
  const [unfit] = dropUnfitState(context);
  if (unfit !== undefined) throw unfit;
}

/**
 * Takes state back that JSON cannot hold, and returns the reasons: the commit of the call's event would fail, and with
 * it the run.
 */
function dropUnfitState({ actions: { stateDelta }, state }: Context): unknown[] {
  return Object.entries(stateDelta).flatMap(([key, value]) => {
    try {
      toJson(value, `its state ${JSON.stringify(key)}`);
      return [];
    } catch (cause) {
      state.takeBack(key);
      // Not the error of `toJson`: the mistake is not one of the model's arguments.
      return [new TypeError(MeshError.from(cause).message, { cause })];
    }
  });
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
  return `tool ${tool} failed: ${error instanceof Error ? error.message : String(error)}`;
}

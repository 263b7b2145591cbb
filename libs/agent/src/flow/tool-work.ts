import { beginUnder, MeshError, toJson, unlessAborted } from '@agentmesh/protocol';
import type { BaseTool } from '../base/base-tool.ts';
import type { Context } from '../base/context.ts';
import { asGenerator, type Emit } from '../events/emit.ts';
import { wellFormed } from '../events/well-formed.ts';

export type Json = Record<string, unknown>;

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
 * Runs a tool without callbacks. Yields the progress of a tool that is a generator; results are JSON objects.
 *
 * @param carrier the headers that name the span of the call; default: those of the invocation
 * @throws any error of the tool
 */
export function executeTool(
  tool: BaseTool,
  args: Json,
  context: Context,
  carrier?: Readonly<Record<string, string>>,
): AsyncGenerator<Json, ToolOutcome, void> {
  return asGenerator((emit) => workOf(tool, args, context, emit, carrier));
}

/** Does the same as {@link executeTool}, as a function to which the progress goes. */
export async function workOf(
  tool: BaseTool,
  args: Json,
  context: Context,
  emit: Emit<Json>,
  carrier: Readonly<Record<string, string>> = context.invocationContext?.carrier ?? {},
): Promise<ToolOutcome> {
  try {
    const running = beginUnder(carrier, () => tool.runAsync({ args, toolContext: context }));
    const result = await unlessAborted(running, context.abortSignal);
    const word = isGenerator(result) ? await readProgress(result, context, emit) : { firstWord: result };
    const [unfit] = dropUnfitState(context);
    if (unfit !== undefined) throw unfit;
    if ('outcome' in word) return { response: wrapResult(word.outcome), isLastWord: true };
    const { firstWord } = word;
    const hasNone = tool.isLongRunning && (firstWord === undefined || firstWord === null);
    return { response: hasNone ? undefined : wrapResult(firstWord), isLastWord: false };
  } catch (thrown) {
    dropUnfitState(context);
    throw thrown;
  }
}

/** Reads a tool that is a generator to its end. */
async function readProgress(
  progress: AsyncIterator<unknown> | Iterator<unknown>,
  { abortSignal }: Context,
  emit: Emit<Json>,
): Promise<{ outcome: unknown } | { firstWord: unknown }> {
  try {
    for (;;) {
      const { done, value } = await unlessAborted(Promise.resolve(progress.next()), abortSignal);
      if (done) return value instanceof FirstWord ? { firstWord: value.result } : { outcome: value };
      await emit(wrapResult(value));
    }
  } finally {
    // Nobody waits for the generator's end, because a generator that hangs would never end.
    Promise.resolve(progress.return?.()).catch(() => {});
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
export function wrapResult(result: unknown): Json {
  const text = JSON.stringify(result, refuseLoss);
  const json: unknown = text === undefined ? null : wellFormed(JSON.parse(text));
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return isObject ? { ...json } : { result: json };
}

/** Refuses what JSON writes as an empty object. */
function refuseLoss(_key: string, value: unknown): unknown {
  if (!(value instanceof Map || value instanceof Set || value instanceof Error)) return value;
  throw new TypeError(
    `it returned a ${value.constructor.name}, which JSON cannot hold; return a plain object`,
  );
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

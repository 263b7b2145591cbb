import { functionKind, type OptionNames, oneOrMore } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { LlmRequest, LlmResponse } from './base-llm.ts';
import type { BasePlugin } from './base-plugin.ts';
import type { BaseTool } from './base-tool.ts';
import type { Context, ReadonlyContext } from './context.ts';
import { isCallersFault } from './failure.ts';
import type { PluginManager } from './plugin-manager.ts';

type Awaitable<T> = T | Promise<T>;
/** One function or several; the first function that returns a value decides. */
export type OneOrMore<T> = T | T[];

export type SingleAgentCallback = (context: Context) => Awaitable<Content | undefined>;
/** Callback before the agent's work. When it returns a value, that value replaces the work. */
export type BeforeAgentCallback = OneOrMore<SingleAgentCallback>;
/** Callback after the agent's work. When it returns a value, that value is added as an event. */
export type AfterAgentCallback = OneOrMore<SingleAgentCallback>;

export type SingleBeforeModelCallback = (params: {
  context: Context;
  request: LlmRequest;
}) => Awaitable<LlmResponse | undefined>;
export type SingleAfterModelCallback = (params: {
  context: Context;
  response: LlmResponse;
}) => Awaitable<LlmResponse | undefined>;
export type SingleOnModelErrorCallback = (params: {
  context: Context;
  request: LlmRequest;
  error: Error;
}) => Awaitable<LlmResponse | undefined>;

type ToolResponse = Record<string, unknown>;
interface ToolCallbackParams {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
}
export type SingleBeforeToolCallback = (params: ToolCallbackParams) => Awaitable<ToolResponse | undefined>;
export type SingleAfterToolCallback = (
  params: ToolCallbackParams & { response: ToolResponse },
) => Awaitable<ToolResponse | undefined>;
export type SingleOnToolErrorCallback = (
  params: ToolCallbackParams & { error: Error },
) => Awaitable<ToolResponse | undefined>;

export type BeforeModelCallback = OneOrMore<SingleBeforeModelCallback>;
export type AfterModelCallback = OneOrMore<SingleAfterModelCallback>;
export type OnModelErrorCallback = OneOrMore<SingleOnModelErrorCallback>;
export type BeforeToolCallback = OneOrMore<SingleBeforeToolCallback>;
export type AfterToolCallback = OneOrMore<SingleAfterToolCallback>;
export type OnToolErrorCallback = OneOrMore<SingleOnToolErrorCallback>;

/** Callbacks around an LLM agent's model and tools. They are not called when a plugin returns a value. */
export interface LlmCallbacks {
  /**
   * When it returns a value, that value replaces the model's answer: the model is not called, and no model
   * call is counted.
   */
  beforeModelCallback?: BeforeModelCallback;
  /** When it returns a value, that value replaces the model's answer. */
  afterModelCallback?: AfterModelCallback;
  /** When it returns a value, that value replaces the model's error. */
  onModelErrorCallback?: OnModelErrorCallback;
  /** When it returns a value, that value replaces the tool's result, and the tool does not run. */
  beforeToolCallback?: BeforeToolCallback;
  /**
   * When it returns a value, that value replaces the tool's result. For a long-running tool without a first
   * result `response` is undefined, as in ADK.
   */
  afterToolCallback?: AfterToolCallback;
  /** When it returns a value, that value replaces the tool's error. */
  onToolErrorCallback?: OnToolErrorCallback;
}

/** The kind of options with callbacks. */
export const callbacks = oneOrMore(functionKind);

export const llmCallbackOptions: OptionNames<LlmCallbacks> = {
  beforeModelCallback: callbacks,
  afterModelCallback: callbacks,
  onModelErrorCallback: callbacks,
  beforeToolCallback: callbacks,
  afterToolCallback: callbacks,
  onToolErrorCallback: callbacks,
};

export function asList<T>(callbacks: OneOrMore<T> | undefined): T[] {
  if (callbacks === undefined) return [];
  return Array.isArray(callbacks) ? callbacks : [callbacks];
}

interface Callbacks extends LlmCallbacks {
  beforeAgentCallback?: BeforeAgentCallback;
  afterAgentCallback?: AfterAgentCallback;
}

type Single<T> = T extends readonly (infer F)[] ? F : T;
type CallbackOf<H extends keyof Callbacks> = Single<NonNullable<Callbacks[H]>>;

/** The place of callbacks in an agent's work: the agent, their context, and the tool around which they are. */
export interface CallbackPlace {
  plugins: PluginManager | undefined;
  agent: object;
  context: Context;
  tool?: string;
}

/**
 * Calls the hooks of this name of the plugins in order, and then the callbacks of the agent, until one of them returns
 * a result. Reports an exception of a callback to the operator and throws it. Undefined at once if there are none.
 */
export function firstResult<H extends keyof Callbacks>(
  place: CallbackPlace,
  hook: H,
  ofPlugins: Parameters<BasePlugin[H]>[0],
  ofAgent: Parameters<CallbackOf<H>>[0],
): ReturnType<BasePlugin[H]> | undefined {
  const callbacks = asList(Reflect.get(place.agent, hook)) as ((params: unknown) => unknown)[];
  if (callbacks.length === 0 && !place.plugins?.has(hook)) return undefined;
  // The callbacks of agents have the results of the plugins' hooks.
  return askAll(place, hook, ofPlugins, callbacks, ofAgent) as ReturnType<BasePlugin[H]>;
}

async function askAll<H extends keyof Callbacks>(
  place: CallbackPlace,
  hook: H,
  ofPlugins: Parameters<BasePlugin[H]>[0],
  callbacks: readonly ((params: unknown) => unknown)[],
  ofAgent: unknown,
): Promise<unknown> {
  const replaced = await place.plugins?.run(hook, ofPlugins);
  if (replaced !== undefined && replaced !== null) return replaced;
  for (const callback of callbacks) {
    try {
      const result = await callback(ofAgent);
      if (result !== undefined && result !== null) return result;
    } catch (error) {
      reportCallback(place, hook, error);
      throw error;
    }
  }
  return undefined;
}

function reportCallback({ context, tool }: CallbackPlace, name: keyof Callbacks, error: unknown): void {
  if (context.abortSignal?.aborted || isCallersFault(error)) return;
  const { agentName: agent, invocationId, sessionId, functionCallId: callId } = context;
  const ids = { agent, invocationId, sessionId, ...(callId !== undefined && { callId }) };
  const ofTool = tool !== undefined && { tool };
  context.services.onFailure?.({ what: 'callback', name, ...ofTool, ...ids, error });
}

/** A function that makes an instruction anew at every step; its return value is used unchanged. */
export type InstructionProvider = (context: ReadonlyContext) => string | Promise<string>;

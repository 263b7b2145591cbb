import type { OptionNames } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { LlmRequest, LlmResponse } from './base-llm.ts';
import type { BaseTool } from './base-tool.ts';
import type { Context, ReadonlyContext } from './context.ts';

type Awaitable<T> = T | Promise<T>;
/** One function, or several of which the first that returns something decides. */
export type OneOrMore<T> = T | T[];

export type SingleAgentCallback = (context: Context) => Awaitable<Content | undefined>;
/** What it returns is said in place of the agent's work. */
export type BeforeAgentCallback = OneOrMore<SingleAgentCallback>;
/** What it returns is said after the agent's work. */
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

/** Callbacks around an LLM agent's model and tools. A plugin that returns something keeps these from being called. */
export interface LlmCallbacks {
  /** What it returns is taken for the model's answer; the model is not called, nor counted. */
  beforeModelCallback?: BeforeModelCallback;
  /** What it returns replaces the model's answer. */
  afterModelCallback?: AfterModelCallback;
  /** What it returns is taken for the answer of a model that failed. */
  onModelErrorCallback?: OnModelErrorCallback;
  /** What it returns is taken for the tool's result; the tool is not run. */
  beforeToolCallback?: BeforeToolCallback;
  /** Its return value replaces the tool's result. For a long-running tool without a first result `response` is undefined, as in ADK. */
  afterToolCallback?: AfterToolCallback;
  /** What it returns is taken for the result of a tool that threw. */
  onToolErrorCallback?: OnToolErrorCallback;
}

export const llmCallbackOptions: OptionNames<LlmCallbacks> = {
  beforeModelCallback: true,
  afterModelCallback: true,
  onModelErrorCallback: true,
  beforeToolCallback: true,
  afterToolCallback: true,
  onToolErrorCallback: true,
};

export function asList<T>(given: OneOrMore<T> | undefined): T[] {
  if (given === undefined) return [];
  return Array.isArray(given) ? given : [given];
}

/** Calls one after the other and gives the first result there is. */
export async function firstResult<P, R>(
  callbacks: readonly ((params: P) => Awaitable<R | undefined>)[],
  params: P,
): Promise<R | undefined> {
  for (const callback of callbacks) {
    const result = await callback(params);
    if (result !== undefined && result !== null) return result;
  }
  return undefined;
}

/** An instruction that is made anew at every step; what it returns is used as it is. */
export type InstructionProvider = (context: ReadonlyContext) => string | Promise<string>;

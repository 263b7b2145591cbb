import { flagKind, kindOf, listOf, type OptionNames, objectKind, oneOf, textKind } from '@agentmesh/protocol';
import type { GenerateContentConfig } from '@google/genai';
import { type BaseAgentConfig, baseAgentOptions } from '../base/base-agent.ts';
import type { BaseCodeExecutor } from '../base/base-code-executor.ts';
import type { BaseLlm } from '../base/base-llm.ts';
import type { BaseTool } from '../base/base-tool.ts';
import type { BaseToolset } from '../base/base-toolset.ts';
import type { InstructionProvider } from '../base/callbacks.ts';
import { asList, type LlmCallbacks, llmCallbackOptions } from '../base/callbacks.ts';
import type { BaseContextCompactor } from '../base/context-compactor.ts';
import type { ToolParameters } from '../schema/schema.ts';

/** A tool, or a toolset. */
export type ToolUnion = BaseTool | BaseToolset;

export interface LlmAgentConfig extends BaseAgentConfig, LlmCallbacks {
  /** The model, or its name for {@link LLMRegistry}; default: the model of the nearest ancestor. */
  model?: string | BaseLlm;
  /**
   * The agent's task. `{key}` is filled from the state and `{artifact.name}` with a file; `{key?}` may be
   * missing.
   */
  instruction?: string | InstructionProvider;
  /** The instruction for all agents of the tree. Only the instruction of the root agent counts. */
  globalInstruction?: string | InstructionProvider;
  tools?: ToolUnion[];
  /**
   * The way in which the calls of one model turn run: `parallel`, the default, at the same time; `sequential`
   * one after the other, each with the state that earlier calls wrote.
   */
  toolExecution?: 'parallel' | 'sequential';
  generateContentConfig?: GenerateContentConfig;
  disallowTransferToParent?: boolean;
  disallowTransferToPeers?: boolean;
  /** `none` shows the model only the current turn. */
  includeContents?: 'default' | 'none';
  /**
   * The compactors that keep the agent's prompts short, in order; default: the app's compactors. An empty
   * list shows the whole conversation.
   */
  contextCompactors?: readonly BaseContextCompactor[];
  /** The schema of requests to this agent; absent for plain text. */
  inputSchema?: ToolParameters;
  /** The schema of the agent's answer, as JSON. The agent then transfers to no other agent. */
  outputSchema?: ToolParameters;
  /** State key for the agent's answer: its text without thoughts, or with `outputSchema` its value. */
  outputKey?: string;
  /** The executor of the code that the model writes; the model receives the result. */
  codeExecutor?: BaseCodeExecutor;
}

const hasMethod = (value: unknown, method: string) =>
  typeof Reflect.get(Object(value), method) === 'function';
const isModel = (value: unknown) => typeof value === 'string' || hasMethod(value, 'generateContentAsync');
const isTool = (value: unknown) =>
  ['processLlmRequest', 'getTools'].some((method) => hasMethod(value, method));
const instruction = kindOf('a text or a function', (value) => ['string', 'function'].includes(typeof value));

export const llmAgentOptions: OptionNames<LlmAgentConfig> = {
  ...baseAgentOptions,
  ...llmCallbackOptions,
  model: kindOf('the name of a model, or a BaseLlm', isModel),
  instruction,
  globalInstruction: instruction,
  tools: listOf(
    kindOf('a tool or a toolset (a FunctionTool of a function, an AgentTool of an agent)', isTool),
  ),
  toolExecution: oneOf('parallel', 'sequential'),
  generateContentConfig: objectKind,
  disallowTransferToParent: flagKind,
  disallowTransferToPeers: flagKind,
  includeContents: oneOf('default', 'none'),
  contextCompactors: true,
  inputSchema: true,
  outputSchema: true,
  outputKey: textKind,
  codeExecutor: true,
};

/** The options that a program may change on an agent. */
const changeableOptions = [
  ...['model', 'instruction', 'globalInstruction', 'tools', 'generateContentConfig', 'outputKey'],
  ...['disallowTransferToParent', 'disallowTransferToPeers', 'includeContents', 'codeExecutor'],
  ...Object.keys(llmCallbackOptions),
] as (keyof LlmAgentConfig)[];

/** Returns the options that a program may have changed since it made the agent, as far as they are set. */
export function changeable(
  agent: Required<Pick<LlmAgentConfig, 'tools' | 'generateContentConfig'>>,
): Partial<LlmAgentConfig> {
  const { tools, generateContentConfig } = agent;
  const own = { tools: [...tools], generateContentConfig: { ...generateContentConfig } };
  return { ...setOptions(agent, changeableOptions), ...own };
}

/** Returns the options among these that are set. */
function setOptions(of: object, names: readonly string[]): object {
  return Object.fromEntries(
    names.flatMap((name) => (Reflect.get(of, name) === undefined ? [] : [[name, Reflect.get(of, name)]])),
  );
}

/** Returns only the callbacks that are set. */
export function callbacksIn(callbacks: LlmCallbacks): LlmCallbacks {
  return setOptions(callbacks, Object.keys(llmCallbackOptions));
}

/** The callbacks of an agent as lists. */
export type LlmAgentCallbacks = ReturnType<typeof callbacksOf>;

export function callbacksOf(config: LlmCallbacks) {
  return {
    beforeModelCallback: asList(config.beforeModelCallback),
    afterModelCallback: asList(config.afterModelCallback),
    onModelErrorCallback: asList(config.onModelErrorCallback),
    beforeToolCallback: asList(config.beforeToolCallback),
    afterToolCallback: asList(config.afterToolCallback),
    onToolErrorCallback: asList(config.onToolErrorCallback),
  };
}

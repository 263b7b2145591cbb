import type { OptionNames } from '@agentmesh/protocol';
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

/** Something that gives a model tools. */
export type ToolUnion = BaseTool | BaseToolset;

export interface LlmAgentConfig extends BaseAgentConfig, LlmCallbacks {
  /** A model, or its name for {@link LLMRegistry}; default: that of the nearest ancestor. */
  model?: string | BaseLlm;
  /** What the agent shall do. `{key}` is filled from the state, `{artifact.name}` with a file, `{key?}` where it may be missing. */
  instruction?: string | InstructionProvider;
  /** Of the root agent: what all agents of the tree shall do. */
  globalInstruction?: string | InstructionProvider;
  tools?: ToolUnion[];
  /**
   * How the calls of one model turn are made: `parallel`, the default, at the same time; `sequential` one after the other, each with the state that
   * those before it wrote.
   */
  toolExecution?: 'parallel' | 'sequential';
  generateContentConfig?: GenerateContentConfig;
  disallowTransferToParent?: boolean;
  disallowTransferToPeers?: boolean;
  /** `none`: the model sees only the current turn. */
  includeContents?: 'default' | 'none';
  /** Keep its prompts short, in this order; default those of the app. An empty list: they are as long as the conversation. */
  contextCompactors?: readonly BaseContextCompactor[];
  /** What an ask of this agent must hold, when it is not plain text. */
  inputSchema?: ToolParameters;
  /** What the agent's answer must be, as JSON; the agent then keeps the conversation to itself. */
  outputSchema?: ToolParameters;
  /** State key that the agent's answer is written to: without its thoughts, with `outputSchema` as the value that it is. */
  outputKey?: string;
  /** Runs the code that the model writes, and gives it the result. */
  codeExecutor?: BaseCodeExecutor;
}

export const llmAgentOptions: OptionNames<LlmAgentConfig> = {
  ...baseAgentOptions,
  ...llmCallbackOptions,
  model: true,
  instruction: true,
  globalInstruction: true,
  tools: true,
  toolExecution: true,
  generateContentConfig: true,
  disallowTransferToParent: true,
  disallowTransferToPeers: true,
  includeContents: true,
  contextCompactors: true,
  inputSchema: true,
  outputSchema: true,
  outputKey: true,
  codeExecutor: true,
};

type Changeable = LlmCallbacks &
  Required<
    Pick<
      LlmAgentConfig,
      | 'instruction'
      | 'globalInstruction'
      | 'tools'
      | 'generateContentConfig'
      | 'disallowTransferToParent'
      | 'disallowTransferToPeers'
      | 'includeContents'
    >
  > & { [K in 'model' | 'outputKey' | 'codeExecutor']: LlmAgentConfig[K] | undefined };

/** Returns the options that a program may have changed since the agent was made. */
export function changeable(agent: Changeable): Partial<LlmAgentConfig> {
  const { model, instruction, globalInstruction, tools, generateContentConfig, outputKey, codeExecutor } =
    agent;
  const { disallowTransferToParent, disallowTransferToPeers, includeContents } = agent;
  return {
    ...callbacksIn(agent),
    ...(model !== undefined && { model }),
    ...(outputKey !== undefined && { outputKey }),
    ...(codeExecutor !== undefined && { codeExecutor }),
    ...{
      instruction,
      globalInstruction,
      tools: [...tools],
      generateContentConfig: { ...generateContentConfig },
    },
    ...{ disallowTransferToParent, disallowTransferToPeers, includeContents },
  };
}

/** The callbacks alone, without those that are absent. */
export function callbacksIn(callbacks: LlmCallbacks): LlmCallbacks {
  const names = Object.keys(llmCallbackOptions) as (keyof LlmCallbacks)[];
  return Object.fromEntries(
    names.flatMap((name) => (callbacks[name] === undefined ? [] : [[name, callbacks[name]]])),
  );
}

/** An agent's callbacks as lists. */
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

import { AgentTool } from '../agent-tool/agent-tool.ts';
import { BaseAgent } from '../base/base-agent.ts';
import { BaseLlm } from '../base/base-llm.ts';
import { BaseTool } from '../base/base-tool.ts';
import { BaseToolset } from '../base/base-toolset.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LoopAgent } from '../workflow/loop-agent.ts';
import { ParallelAgent } from '../workflow/parallel-agent.ts';
import { RoutedAgent } from '../workflow/routed-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';
import { App } from './app.ts';
import { Runner } from './runner.ts';

/** ADK's type guards. */
export const isBaseAgent = (value: unknown): value is BaseAgent => value instanceof BaseAgent;
export const isLlmAgent = (value: unknown): value is LlmAgent => value instanceof LlmAgent;
export const isLoopAgent = (value: unknown): value is LoopAgent => value instanceof LoopAgent;
export const isParallelAgent = (value: unknown): value is ParallelAgent => value instanceof ParallelAgent;
export const isSequentialAgent = (value: unknown): value is SequentialAgent =>
  value instanceof SequentialAgent;
export const isRoutedAgent = (value: unknown): value is RoutedAgent => value instanceof RoutedAgent;
export const isBaseTool = (value: unknown): value is BaseTool => value instanceof BaseTool;
export const isBaseToolset = (value: unknown): value is BaseToolset => value instanceof BaseToolset;
export const isFunctionTool = (value: unknown): value is FunctionTool => value instanceof FunctionTool;
export const isAgentTool = (value: unknown): value is AgentTool => value instanceof AgentTool;
export const isBaseLlm = (value: unknown): value is BaseLlm => value instanceof BaseLlm;
export const isRunner = (value: unknown): value is Runner => value instanceof Runner;
export const isApp = (value: unknown): value is App => value instanceof App;

export type { Event, EventActions, RunConfig } from '@agentmesh/protocol';
export type { AgentAnswer, AgentToolConfig, Askable } from './agent-tool.ts';
export { AgentTool, collectAnswer, openSession } from './agent-tool.ts';
export type { BaseAgentConfig } from './base-agent.ts';
export { BaseAgent } from './base-agent.ts';
export type { BaseToolConfig, RunToolRequest } from './base-tool.ts';
export { BaseTool, BaseToolset } from './base-tool.ts';
export type { ContextOptions, ContextOrigin } from './context.ts';
export { Context, Context as CallbackContext, Context as ToolContext, ReadonlyContext } from './context.ts';
export {
  answerText,
  createEvent,
  createEventActions,
  functionCallIdPrefix,
  getFunctionCalls,
  getFunctionResponses,
  isFinalResponse,
  mergeEventActions,
  newFunctionCallId,
  newInvocationId,
  stringifyContent,
} from './event.ts';
export { executeTool } from './flow/call-tools.ts';
export type { FunctionToolOptions, ToolArgs } from './function-tool.ts';
export { FunctionTool, LongRunningFunctionTool, ToolArgumentsError } from './function-tool.ts';
export { InMemorySessionService } from './in-memory-session-service.ts';
export type { InvocationOptions } from './invocation.ts';
export { runInvocation } from './invocation.ts';
export type { InvocationContextFields, TransferPort, TransferTarget } from './invocation-context.ts';
export { InvocationContext } from './invocation-context.ts';
export type { InstructionProvider, LlmAgentConfig } from './llm-agent.ts';
export { LlmAgent, LlmAgent as Agent } from './llm-agent.ts';
export type { GeminiOptions } from './models/gemini.ts';
export { Gemini } from './models/gemini.ts';
export type { GenerateOptions, LlmRequest, LlmResponse } from './models/llm.ts';
export { BaseLlm } from './models/llm.ts';
export { LLMRegistry } from './models/registry.ts';
export type { RunnerConfig, RunRequest } from './runner.ts';
export { closeToolsets, InMemoryRunner, Runner } from './runner.ts';
export type { ToolParameters } from './schema.ts';
export { zodToSchema } from './schema.ts';
export type {
  GetSessionConfig,
  InvocationRecord,
  InvocationRef,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionService,
  StoredEvent,
} from './session-service.ts';
export type { StateScope } from './state.ts';
export { pickScopes, State, scopeOf } from './state.ts';

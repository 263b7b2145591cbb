export type { TransferPort, TransferTarget } from './base/transfer-port.ts';
/**
 * Agents that a model drives: it answers, calls tools, and transfers the conversation to other agents.
 *
 * @example
 * import { FunctionTool, LlmAgent } from '@agentmesh/agent';
 * import { z } from 'zod';
 *
 * const clock = new FunctionTool({
 *   name: 'get_time',
 *   description: 'Tells the time in a city.',
 *   parameters: z.object({ city: z.string() }),
 *   execute: ({ city }) => ({ city, time: '10:30' }),
 * });
 * export const agent = new LlmAgent({
 *   name: 'clock_agent',
 *   model: 'gemini-2.5-flash',
 *   instruction: 'Answer questions about the time.',
 *   tools: [clock],
 * });
 */

export type * from './base/callbacks.ts';
export type { LlmAgentConfig } from './flow/llm-agent.ts';
export { LlmAgent, LlmAgent as Agent } from './flow/llm-agent.ts';
export type { ToolUnion } from './flow/llm-agent-config.ts';

/**
 * Agents that run other agents (in order, at the same time, in a loop, or by choice), and agents with user
 * code.
 *
 * @example
 * import { LlmAgent, SequentialAgent } from '@agentmesh/agent';
 *
 * const model = 'gemini-2.5-flash';
 * const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write a draft.', outputKey: 'draft' });
 * const critic = new LlmAgent({ name: 'critic', model, instruction: 'Judge this draft: {draft}' });
 * export const agent = new SequentialAgent({ name: 'pipeline', subAgents: [writer, critic] });
 */

export type { BaseAgentConfig } from './base/base-agent.ts';
export { BaseAgent } from './base/base-agent.ts';
export type {
  InvocationContextFields as InvocationContextParams,
  InvocationServices,
} from './base/invocation-context.ts';
export { InvocationContext } from './base/invocation-context.ts';
export type { Router, RoutingErrorContext } from './models/routing.ts';
export * from './workflow/loop-agent.ts';
export { ParallelAgent } from './workflow/parallel-agent.ts';
export * from './workflow/routed-agent.ts';
export { SequentialAgent } from './workflow/sequential-agent.ts';

/**
 * Tools that a model calls: functions, long-running work, agents, and groups of tools.
 *
 * @example
 * import { AgentTool, LlmAgent, LongRunningFunctionTool } from '@agentmesh/agent';
 * import { z } from 'zod';
 *
 * const approval = new LongRunningFunctionTool({
 *   name: 'ask_for_approval',
 *   description: 'Asks the manager to approve an amount.',
 *   parameters: z.object({ amount: z.number() }),
 *   execute: ({ amount }) => ({ status: 'pending', amount }),
 * });
 * const expert = new LlmAgent({ name: 'tax_expert', model: 'gemini-2.5-flash', description: 'Knows taxes.' });
 * export const tools = [approval, new AgentTool({ agent: expert })];
 */

export type { AgentToolConfig } from './agent-tool/agent-tool.ts';
export { AgentTool } from './agent-tool/agent-tool.ts';
export * from './base/base-tool.ts';
export * from './base/base-toolset.ts';
export { executeTool } from './flow/tool-work.ts';
export type {
  ToolParameters,
  ToolParameters as LlmAgentSchema,
  ToolParameters as SchemaLike,
} from './schema/schema.ts';
export { zodToSchema, zodToSchema as zodObjectToSchema } from './schema/zod-to-schema.ts';
export { EXIT_LOOP, ExitLoopTool } from './tools/exit-loop-tool.ts';
export type * from './tools/function-tool.ts';
export { FunctionTool, LongRunningFunctionTool, ToolArgumentsError } from './tools/function-tool.ts';
export * from './tools/google-tools.ts';

/**
 * The context of tools and callbacks: state, actions, files, memory, and the current call.
 *
 * @example
 * import { FunctionTool, type ToolContext } from '@agentmesh/agent';
 * import { z } from 'zod';
 *
 * export const visit = new FunctionTool({
 *   name: 'note_visit',
 *   description: 'Notes that the user was here.',
 *   parameters: z.object({}),
 *   execute: (_input: unknown, context?: ToolContext) => context?.state.set('user:visited', true),
 * });
 */

export { Context, Context as CallbackContext, Context as ToolContext } from './base/context.ts';
export { ReadonlyContext } from './base/readonly-context.ts';
export { State } from './events/state.ts';

/**
 * Questions to people: confirmations, inputs, and choices. The call is pending until its answer comes, in any
 * process.
 *
 * @example
 * import { FunctionTool } from '@agentmesh/agent';
 * import { z } from 'zod';
 *
 * export const pay = new FunctionTool({
 *   name: 'pay',
 *   description: 'Pays an amount.',
 *   parameters: z.object({ amount: z.number() }),
 *   requireConfirmation: ({ amount }) => amount > 100,
 *   execute: ({ amount }) => ({ paid: amount }),
 * });
 */

export type { ConfirmationRequest, InputQuestion } from './base/context.ts';
export * from './questions/user-input-request.ts';
export type { AnswerSchema, JsonSchema } from './schema/answer-schema.ts';
export type { PendingCall } from './sessions/derive-pending.ts';
export { requestInputTool } from './tools/request-input-tool.ts';
export { ToolConfirmation } from './tools/tool-confirmation.ts';
export { getUserChoiceTool } from './tools/user-choice-tool.ts';

/**
 * Credentials of users and applications: a tool names the one that it needs, and receives it before it runs.
 *
 * @example
 * import { AuthCredentialTypes, AuthenticatedFunctionTool } from '@agentmesh/agent';
 * import { z } from 'zod';
 *
 * export const orders = new AuthenticatedFunctionTool({
 *   name: 'list_orders',
 *   description: 'Lists the orders of the user.',
 *   parameters: z.object({}),
 *   authConfig: {
 *     credentialKey: 'shop',
 *     authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' },
 *     rawAuthCredential: { authType: AuthCredentialTypes.API_KEY, apiKey: 'key of the application' },
 *   },
 *   execute: () => ({ orders: [] }),
 * });
 */

export type { OAuth2Credential as OAuth2Auth } from './credentials/auth-config.ts';
export * from './credentials/auth-config.ts';
export type { CredentialService } from './credentials/credential-service.ts';
export { InMemoryCredentialService } from './credentials/in-memory-credential-service.ts';
export { InMemorySignInService } from './credentials/in-memory-sign-in-service.ts';
export type { SignInService } from './credentials/sign-in-service.ts';
export type { AuthenticatedFunctionToolOptions } from './tools/authenticated-function-tool.ts';
export { AuthenticatedFunctionTool } from './tools/authenticated-function-tool.ts';

/**
 * Models: Gemini by name, several models as one, and models of your own; OpenAI's are in
 * `@agentmesh/agent/openai`. Also executors of the code that a model writes.
 *
 * @example
 * import { Gemini, LlmAgent, RoutedLlm } from '@agentmesh/agent';
 *
 * const model = new RoutedLlm({
 *   models: [new Gemini({ model: 'gemini-2.5-pro', apiKey: 'k' }), new Gemini({ model: 'gemini-2.5-flash', apiKey: 'k' })],
 * });
 * export const agent = new LlmAgent({ name: 'steady_agent', model });
 */

export type { ExecuteCodeRequest as ExecuteCodeParams } from './base/base-code-executor.ts';
export * from './base/base-code-executor.ts';
export type { BaseLlmConnection, LlmRequest, LlmResponse } from './base/base-llm.ts';
export { BaseLlm, readContents } from './base/base-llm.ts';
export { BuiltInCodeExecutor } from './code-executors/built-in-code-executor.ts';
export * from './code-executors/unsafe-local-code-executor.ts';
export type { GeminiOptions as GeminiParams } from './models/gemini.ts';
export * from './models/gemini.ts';
export * from './models/registry.ts';
export * from './models/routed-llm.ts';

/**
 * Runners: they run an app of agents, with plugins, in one process. On a mesh, services run agents instead: see
 * `@agentmesh/mesh`.
 *
 * @example
 * import { App, InMemoryRunner, LlmAgent, LoggingPlugin } from '@agentmesh/agent';
 *
 * const rootAgent = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });
 * const runner = new InMemoryRunner({ app: new App({ name: 'shop', rootAgent, plugins: [new LoggingPlugin()] }) });
 * export const session = await runner.sessionService.createSession({ appName: 'shop', userId: 'ann' });
 */

export { BasePlugin } from './base/base-plugin.ts';
export type { Failure, OnFailure } from './base/failure.ts';
export { PluginManager } from './base/plugin-manager.ts';
export { GlobalInstructionPlugin } from './plugins/global-instruction-plugin.ts';
export * from './plugins/logging-plugin.ts';
export type { AppOptions, ResumabilityConfig } from './runner/app.ts';
export { App, createResumabilityConfig, validateAppName } from './runner/app.ts';
export type { RunConfig } from './runner/run-config.ts';
export * from './runner/runner.ts';
export { StreamingMode } from './runner/streaming-mode.ts';
export * from './runner/type-guards.ts';

/**
 * Events: the records of a session's log, of agents, tools and people.
 *
 * @example
 * import { createEvent, getFunctionCalls, stringifyContent } from '@agentmesh/agent';
 *
 * const event = createEvent({ author: 'helper', content: { role: 'model', parts: [{ text: 'Hello.' }] } });
 * export const said = [stringifyContent(event), getFunctionCalls(event).length];
 */

export type { AnsweredBy, ConfirmableBy, Event, EventActions } from '@agentmesh/protocol';
export type { CreateEventParams } from './events/event.ts';
export {
  createEvent,
  createEventActions,
  getFunctionCalls,
  getFunctionResponses,
  isFinalResponse,
  newFunctionCallId as generateClientFunctionCallId,
  stringifyContent,
} from './events/event.ts';
export * from './events/event-queries.ts';

/**
 * Sessions: conversations with their log and state; and compactors, which keep the prompts of long
 * conversations short.
 *
 * @example
 * import { InMemorySessionService, LlmAgent, TruncatingContextCompactor } from '@agentmesh/agent';
 *
 * const sessions = new InMemorySessionService();
 * export const session = await sessions.createSession({ appName: 'shop', userId: 'ann', state: { 'user:name': 'Ann' } });
 * const contextCompactors = [new TruncatingContextCompactor({ threshold: 100 })];
 * export const agent = new LlmAgent({ name: 'patient_agent', model: 'gemini-2.5-flash', contextCompactors });
 */

export type * from './base/context-compactor.ts';
export * from './compaction/compactors.ts';
export type { EventsCompactionConfig } from './compaction/events-compaction-config.ts';
export { LlmSummarizer, type LlmSummarizerOptions } from './compaction/summarizer.ts';
export { InMemorySessionService } from './sessions/in-memory/session-service.ts';
export type { Session } from './sessions/session.ts';
export * from './sessions/session-history.ts';
export type { ListSessionsRequest, ListSessionsResponse } from './sessions/session-list.ts';
export type * from './sessions/session-service.ts';
export type {
  DeleteSessionRequest as CompositeSessionKey,
  SessionService as BaseSessionService,
} from './sessions/session-service.ts';

/**
 * Artifacts: files of a session or of a user, with versions.
 *
 * @example
 * import { InMemoryArtifactService } from '@agentmesh/agent';
 *
 * const files = new InMemoryArtifactService();
 * const ref = { appName: 'shop', userId: 'ann', sessionId: 's-1', filename: 'note.txt' };
 * export const version = await files.saveArtifact({ ...ref, artifact: { text: 'Milk.' } });
 */

export type * from './artifacts/artifact-service.ts';
export { BaseArtifactService } from './artifacts/base-artifact-service.ts';
export { FileArtifactService } from './artifacts/file-artifact-service.ts';
export { InMemoryArtifactService } from './artifacts/in-memory-artifact-service.ts';
export {
  LoadArtifactsTool,
  loadArtifactsTool,
  loadArtifactsTool as LOAD_ARTIFACTS,
} from './tools/load-artifacts-tool.ts';

/**
 * Memory: the texts of other sessions, found by words or by meaning.
 *
 * @example
 * import { InMemoryMemoryService, LlmAgent, loadMemoryTool } from '@agentmesh/agent';
 *
 * const memory = new InMemoryMemoryService();
 * export const found = await memory.searchMemory({ appName: 'shop', userId: 'ann', query: 'size' });
 * export const agent = new LlmAgent({ name: 'recaller', model: 'gemini-2.5-flash', tools: [loadMemoryTool] });
 */

export type { Embedder } from './memory/embedder.ts';
export { InMemoryMemoryService } from './memory/in-memory-memory-service.ts';
export type * from './memory/memory-service.ts';
export * from './models/gemini-embedder.ts';
export { LoadMemoryTool, loadMemoryTool, loadMemoryTool as LOAD_MEMORY } from './tools/load-memory-tool.ts';
export {
  PreloadMemoryTool,
  preloadMemoryTool,
  preloadMemoryTool as PRELOAD_MEMORY,
} from './tools/preload-memory-tool.ts';

export type { Event, EventActions } from '@agentmesh/protocol';
export type { AgentAnswer, OpenCall } from './agent-answer.ts';
export { readAnswer } from './agent-answer.ts';
export type { AgentToolConfig, Askable } from './agent-tool.ts';
export { AgentTool, checkAsk } from './agent-tool.ts';
export type { AnswerSchema, JsonSchema } from './answer-schema.ts';
export type { AppOptions, ResumabilityConfig } from './app.ts';
export { App, assertResumability, createResumabilityConfig, notResumable, validateAppName } from './app.ts';
export type {
  ArtifactPlace,
  ArtifactRef,
  ArtifactService,
  ArtifactStream,
  ArtifactUpload,
  ArtifactVersion,
  DeleteArtifactRequest,
  ListArtifactKeysRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
  UserArtifact,
} from './artifacts/artifact-service.ts';
export type { ArtifactOwner, OwnedFile, StoredVersion } from './artifacts/base-artifact-service.ts';
export { artifactUri, BaseArtifactService } from './artifacts/base-artifact-service.ts';
export { FileArtifactService } from './artifacts/file-artifact-service.ts';
export { InMemoryArtifactService } from './artifacts/in-memory-artifact-service.ts';
export {
  LoadArtifactsTool,
  loadArtifactsTool,
  loadArtifactsTool as LOAD_ARTIFACTS,
} from './artifacts/load-artifacts-tool.ts';
export type { ArtifactAbout } from './artifacts/stored-part.ts';
export { artifactAboutSchema, isMimeType } from './artifacts/stored-part.ts';
export type {
  AuthConfig,
  AuthCredential,
  AuthScheme,
  HttpAuth,
  HttpCredentials,
  OAuth2Credential,
  OAuth2Credential as OAuth2Auth,
} from './auth/auth-config.ts';
export { AuthCredentialTypes } from './auth/auth-config.ts';
export type { AuthenticatedFunctionToolOptions } from './auth/authenticated-function-tool.ts';
export { AuthenticatedFunctionTool } from './auth/authenticated-function-tool.ts';
export type { CallCredentials } from './auth/call-credentials.ts';
export { isCredentialFailure } from './auth/credential-steps.ts';
export type { CredentialServices } from './auth/find-credential.ts';
export { InMemoryCredentialService } from './auth/in-memory-credential-service.ts';
export { InMemorySignInService } from './auth/in-memory-sign-in-service.ts';
export type {
  KeptSignIn,
  SignIn,
  SignInRef,
  SignInService,
  SignInStatus,
} from './auth/sign-in-service.ts';
export { signInTtlMs } from './auth/sign-in-service.ts';
export { credentialToSave, endOf } from './auth/validity.ts';
export type { BaseAgentConfig } from './base-agent.ts';
export { BaseAgent } from './base-agent.ts';
export type {
  BaseToolConfig,
  BaseToolParams,
  RunAsyncToolRequest,
  RunToolRequest,
  ToolProcessLlmRequest,
} from './base-tool.ts';
export { BaseTool } from './base-tool.ts';
export type { ToolPredicate } from './base-toolset.ts';
export { BaseToolset } from './base-toolset.ts';
export type * from './callbacks.ts';
export { openSession } from './child-session.ts';
export type {
  CodeExecutionInput,
  CodeExecutionResult,
  ExecuteCodeRequest,
  ExecuteCodeRequest as ExecuteCodeParams,
} from './code-executors/base-code-executor.ts';
export { BaseCodeExecutor } from './code-executors/base-code-executor.ts';
export { BuiltInCodeExecutor } from './code-executors/built-in-code-executor.ts';
export type { UnsafeLocalCodeExecutorOptions } from './code-executors/unsafe-local-code-executor.ts';
export { UnsafeLocalCodeExecutor } from './code-executors/unsafe-local-code-executor.ts';
export type {
  SlidingWindowContextCompactorOptions,
  TokenBasedContextCompactorOptions,
  TruncatingContextCompactorOptions,
} from './compaction/compactors.ts';
export {
  SlidingWindowContextCompactor,
  TokenBasedContextCompactor,
  TruncatingContextCompactor,
} from './compaction/compactors.ts';
export type {
  BaseContextCompactor,
  PromptHistory,
  SummarizingCompactor,
  TruncatingCompactor,
} from './compaction/context-compactor.ts';
export type { EventsCompactionConfig } from './compaction/events-compaction-config.ts';
export { compactorsOf } from './compaction/events-compaction-config.ts';
export type { BaseSummarizer, LlmSummarizerOptions } from './compaction/summarizer.ts';
export { LlmSummarizer } from './compaction/summarizer.ts';
export type { ConfirmationRequest, ContextOptions, ContextOrigin, InputQuestion } from './context.ts';
export { Context, Context as CallbackContext, Context as ToolContext, ReadonlyContext } from './context.ts';
export type {
  CredentialOwner,
  CredentialRecords,
  CredentialService,
  KeptCredential,
} from './credential-service.ts';
export { aboutCredential } from './credential-service.ts';
export { deadlinePassed } from './deadlines.ts';
export type { CreateEventParams } from './event.ts';
export {
  createEvent,
  createEventActions,
  functionCallIdPrefix,
  getFunctionCalls,
  getFunctionResponses,
  isFinalResponse,
  mergeEventActions,
  newFunctionCallId,
  newFunctionCallId as generateClientFunctionCallId,
  newInvocationId,
  newResumeId,
  stringifyContent,
  tokensOf,
} from './event.ts';
export {
  findEventByFunctionCallId,
  findMatchingFunctionCall,
  hasThoughts,
  hasTrailingCodeExecutionResult,
} from './event-queries.ts';
export type { Failure, OnFailure } from './failure.ts';
export { isCallersFault, printFailure } from './failure.ts';
export { progressId } from './flow/call-tools.ts';
export { assertContinues } from './flow/continuation.ts';
export { artifactsOfSession } from './flow/forward-artifacts.ts';
export { forwardEvents, withinCallKey } from './flow/forward-events.ts';
export { questionNames, questionOf } from './flow/question.ts';
export { isCredentialQuestion } from './flow/question-id.ts';
export { answerToQuestion, isPassedOn } from './flow/questions.ts';
export { isRefused, orRefused, refusedReason } from './flow/refusal.ts';
export { appendInstructions } from './flow/request.ts';
export type { ToolOutcome } from './flow/run-tool.ts';
export { executeTool, FirstWord, failureOf, toolErrorText } from './flow/run-tool.ts';
export type { UserMessage } from './flow/user-message.ts';
export { askerCancelled, readMessage } from './flow/user-message.ts';
export { withCredentials } from './flow/with-credentials.ts';
export { deepFreeze } from './freeze.ts';
export type {
  FunctionToolOptions,
  RequireConfirmation,
  ToolArgs,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
} from './function-tool.ts';
export { FunctionTool, LongRunningFunctionTool, ToolArgumentsError } from './function-tool.ts';
export {
  ENTERPRISE_WEB_SEARCH,
  EnterpriseWebSearchTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  GoogleMapsGroundingTool,
  GoogleSearchTool,
  URL_CONTEXT,
  UrlContextTool,
} from './google-tools.ts';
export type { HeldStep } from './held-step.ts';
export { endsPart, hear, heldCopy, heldSessions, heldStep, loggedSeq } from './held-step.ts';
export { elsewhere, InMemorySessionService } from './in-memory-session-service.ts';
export { withEmitted } from './interleave.ts';
export type { InvocationOptions } from './invocation.ts';
export { runInvocation } from './invocation.ts';
export type {
  InvocationContextFields,
  InvocationContextFields as InvocationContextParams,
  InvocationServices,
  TransferPort,
  TransferTarget,
} from './invocation-context.ts';
export { InvocationContext, invocationServiceNames } from './invocation-context.ts';
export type { WithNodeInfo } from './journal.ts';
export { isInPath, newestRun, pathOf } from './journal.ts';
export type { InstructionProvider, LlmAgentConfig } from './llm-agent.ts';
export { LlmAgent, LlmAgent as Agent } from './llm-agent.ts';
export type { ToolUnion } from './llm-agent-config.ts';
export type { LoggedResponse, LogIndex } from './log-index.ts';
export { logIndex, noteUnread } from './log-index.ts';
export type { Embedder } from './memory/embedder.ts';
export type { GeminiEmbedderOptions } from './memory/gemini-embedder.ts';
export { GeminiEmbedder } from './memory/gemini-embedder.ts';
export { InMemoryMemoryService } from './memory/in-memory-memory-service.ts';
export { LoadMemoryTool, loadMemoryTool, loadMemoryTool as LOAD_MEMORY } from './memory/load-memory-tool.ts';
export type {
  AddEventsRequest,
  AddMemoryRequest,
  BaseMemoryService,
  FoundMemory,
  ListMemoriesRequest,
  MemoryEntry,
  MemoryMark,
  MemoryOwner,
  MemoryPage,
  MemoryService,
  SearchMemoryRequest,
  SearchMemoryResponse,
  StoredMemory,
} from './memory/memory-service.ts';
export {
  PreloadMemoryTool,
  preloadMemoryTool,
  preloadMemoryTool as PRELOAD_MEMORY,
} from './memory/preload-memory-tool.ts';
export { impactOf, rarityOf } from './memory/ranking.ts';
export {
  memoryJson,
  memoryText,
  pageLimit,
  rememberedEntry,
  rememberedEvent,
  searchLimit,
} from './memory/remembered.ts';
export type { SessionChange } from './memory/session-view.ts';
export { changeOf, isOlder, isRewind } from './memory/session-view.ts';
export { queryWords, textTerms } from './memory/words.ts';
export type { GeminiOptions, GeminiOptions as GeminiParams } from './models/gemini.ts';
export { Gemini } from './models/gemini.ts';
export type { BaseLlmConnection, LlmRequest, LlmResponse } from './models/llm.ts';
export { BaseLlm } from './models/llm.ts';
export type { BaseLlmType } from './models/registry.ts';
export { LLMRegistry } from './models/registry.ts';
export type { LlmRouter, RoutedLlmOptions } from './models/routed-llm.ts';
export { RoutedLlm } from './models/routed-llm.ts';
export type { ClosedCall, PendingCall } from './pending.ts';
export { answerDigest, askingEvent, pendingChanges, turnChanges } from './pending.ts';
export type { AnswerClaim, AnswerState, CallRef, PendingCalls } from './pending-calls.ts';
export { hasAnswer } from './pending-calls.ts';
export { BasePlugin } from './plugins/base-plugin.ts';
export { GlobalInstructionPlugin } from './plugins/global-instruction-plugin.ts';
export type { LogLine } from './plugins/logging-plugin.ts';
export { LoggingPlugin } from './plugins/logging-plugin.ts';
export { PluginManager } from './plugins/plugin-manager.ts';
export { requestInputTool } from './request-input-tool.ts';
export type { Router, RoutingErrorContext } from './routes.ts';
export type { RunConfig } from './run-config.ts';
export { readRunConfig } from './run-config.ts';
export type { RunId } from './run-ids.ts';
export {
  continuationPrefix,
  failureEventId,
  isFailure,
  messageEventId,
  runKey,
  runName,
  runOfName,
} from './run-ids.ts';
export type {
  EphemeralRunRequest,
  InMemoryRunnerConfig,
  RunnerConfig,
  RunnerRoot,
  RunRequest,
} from './runner.ts';
export { closeToolsets, InMemoryRunner, Runner } from './runner.ts';
export type {
  ToolParameters,
  ToolParameters as LlmAgentSchema,
  ToolParameters as SchemaLike,
} from './schema.ts';
export { toGenaiSchema, zodToSchema, zodToSchema as zodObjectToSchema } from './schema.ts';
export type { SessionHeadsOptions } from './session-heads.ts';
export { SessionHeads } from './session-heads.ts';
export type { ForkOptions } from './session-history.ts';
export { forkSession, importSession, rewindSession } from './session-history.ts';
export type { SessionLeases, TakenSession, WhenBusy } from './session-leases.ts';
export { askedAgain, askedAgainReason, defaultLeaseMs } from './session-leases.ts';
export { getOrCreateSession, listed, sliceOf } from './session-list.ts';
export type {
  AppendEventRequest,
  Attempt,
  CreateSessionRequest,
  DeleteSessionOptions,
  DeleteSessionRequest,
  DeleteSessionRequest as CompositeSessionKey,
  GetSessionConfig,
  GetSessionRequest,
  InvocationRecord,
  InvocationRef,
  ListSessionsRequest,
  ListSessionsResponse,
  RunEnd,
  RunEnding,
  Session,
  SessionService,
  SessionService as BaseSessionService,
  StoredEvent,
  TurnNeed,
  TurnSession,
} from './session-service.ts';
export { endOfRun, unreadBefore } from './session-service.ts';
export type { StateScope } from './state.ts';
export { pickScopes, State, scopeOf } from './state.ts';
export { StreamingMode } from './streaming-mode.ts';
export { ToolConfirmation } from './tool-confirmation.ts';
export { turnNeed } from './turn-need.ts';
export * from './type-guards.ts';
export { getUserChoiceTool } from './user-choice-tool.ts';
export type { UserInputKind, UserInputRequest } from './user-input-request.ts';
export {
  getPendingUserInputRequests,
  getUserInputRequests,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
  requiresUserInput,
} from './user-input-request.ts';
export type { DeletedRecords, KeptSession, UserOwner, UserRecords } from './user-records.ts';
export { EXIT_LOOP, ExitLoopTool } from './workflow/exit-loop-tool.ts';
export type { LoopAgentConfig } from './workflow/loop-agent.ts';
export { LoopAgent } from './workflow/loop-agent.ts';
export { ParallelAgent } from './workflow/parallel-agent.ts';
export type { AgentRouter, RoutedAgentConfig } from './workflow/routed-agent.ts';
export { RoutedAgent } from './workflow/routed-agent.ts';
export { SequentialAgent } from './workflow/sequential-agent.ts';

export type { Event, EventActions } from '@agentmesh/protocol';
export type { AgentAnswer, OpenCall } from './agent-tool/agent-answer.ts';
export { readAnswer } from './agent-tool/agent-answer.ts';
export type { AgentToolConfig, Askable } from './agent-tool/agent-tool.ts';
export { AgentTool, checkAsk } from './agent-tool/agent-tool.ts';
export { openSession } from './agent-tool/child-session.ts';
export { artifactsOfSession } from './agent-tool/forward-artifacts.ts';
export { forwardEvents, withinCallKey } from './agent-tool/forward-events.ts';
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
export type { ArtifactAbout } from './artifacts/stored-part.ts';
export { artifactAboutSchema, isMimeType } from './artifacts/stored-part.ts';
export { isCredentialFailure } from './auth/credential-steps.ts';
export type { CredentialServices } from './auth/find-credential.ts';
export type { BaseAgentConfig } from './base/base-agent.ts';
export { BaseAgent } from './base/base-agent.ts';
export type {
  CodeExecutionInput,
  CodeExecutionResult,
  ExecuteCodeRequest,
  ExecuteCodeRequest as ExecuteCodeParams,
} from './base/base-code-executor.ts';
export { BaseCodeExecutor } from './base/base-code-executor.ts';
export type { BaseLlmConnection, LlmRequest, LlmResponse } from './base/base-llm.ts';
export { appendInstructions, BaseLlm } from './base/base-llm.ts';
export { BasePlugin } from './base/base-plugin.ts';
export type {
  BaseToolConfig,
  BaseToolParams,
  RunAsyncToolRequest,
  RunToolRequest,
  ToolProcessLlmRequest,
} from './base/base-tool.ts';
export { BaseTool } from './base/base-tool.ts';
export type { ToolPredicate } from './base/base-toolset.ts';
export { BaseToolset } from './base/base-toolset.ts';
export type * from './base/callbacks.ts';
export type { ConfirmationRequest, ContextOptions, ContextOrigin, InputQuestion } from './base/context.ts';
export {
  Context,
  Context as CallbackContext,
  Context as ToolContext,
  ReadonlyContext,
} from './base/context.ts';
export type {
  BaseContextCompactor,
  BaseSummarizer,
  PromptHistory,
  SummarizingCompactor,
  TruncatingCompactor,
} from './base/context-compactor.ts';
export type { Failure, OnFailure } from './base/failure.ts';
export { isCallersFault, printFailure } from './base/failure.ts';
export type {
  InvocationContextFields,
  InvocationContextFields as InvocationContextParams,
  InvocationServices,
  TransferPort,
  TransferTarget,
} from './base/invocation-context.ts';
export { InvocationContext, invocationServiceNames } from './base/invocation-context.ts';
export { PluginManager } from './base/plugin-manager.ts';
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
export type { EventsCompactionConfig } from './compaction/events-compaction-config.ts';
export { compactorsOf } from './compaction/events-compaction-config.ts';
export type { LlmSummarizerOptions } from './compaction/summarizer.ts';
export { LlmSummarizer } from './compaction/summarizer.ts';
export type {
  AuthConfig,
  AuthCredential,
  AuthScheme,
  HttpAuth,
  HttpCredentials,
  OAuth2Credential,
  OAuth2Credential as OAuth2Auth,
} from './credentials/auth-config.ts';
export { AuthCredentialTypes } from './credentials/auth-config.ts';
export type { CallCredentials } from './credentials/call-credentials.ts';
export type {
  CredentialOwner,
  CredentialRecords,
  CredentialService,
  KeptCredential,
} from './credentials/credential-service.ts';
export { aboutCredential } from './credentials/credential-service.ts';
export { InMemoryCredentialService } from './credentials/in-memory-credential-service.ts';
export { InMemorySignInService } from './credentials/in-memory-sign-in-service.ts';
export type {
  KeptSignIn,
  SignIn,
  SignInRef,
  SignInService,
  SignInStatus,
} from './credentials/sign-in-service.ts';
export { signInTtlMs } from './credentials/sign-in-service.ts';
export { credentialToSave, endOf } from './credentials/validity.ts';
export type { WithNodeInfo } from './events/agent-path.ts';
export { isInPath, pathOf } from './events/agent-path.ts';
export { deadlinePassed } from './events/deadlines.ts';
export type { CreateEventParams } from './events/event.ts';
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
} from './events/event.ts';
export {
  findEventByFunctionCallId,
  findMatchingFunctionCall,
  hasThoughts,
  hasTrailingCodeExecutionResult,
} from './events/event-queries.ts';
export { deepFreeze } from './events/freeze.ts';
export { withEmitted } from './events/interleave.ts';
export type { LoggedResponse, LogIndex } from './events/log-index.ts';
export { logIndex, noteUnread } from './events/log-index.ts';
export { questionNames, questionOf } from './events/question.ts';
export { isCredentialQuestion } from './events/question-id.ts';
export type { RunId } from './events/run-ids.ts';
export {
  continuationPrefix,
  failureEventId,
  isFailure,
  messageEventId,
  runKey,
  runName,
  runOfName,
} from './events/run-ids.ts';
export type { StateScope } from './events/state.ts';
export { pickScopes, State, scopeOf } from './events/state.ts';
export { progressId } from './flow/call-tools.ts';
export { endsPart, hear, heldCopy, heldSessions, heldStep, loggedSeq } from './flow/hold-step.ts';
export type { InstructionProvider, LlmAgentConfig } from './flow/llm-agent.ts';
export { LlmAgent, LlmAgent as Agent } from './flow/llm-agent.ts';
export type { ToolUnion } from './flow/llm-agent-config.ts';
export type { ToolOutcome } from './flow/run-tool.ts';
export { executeTool, FirstWord, failureOf, toolErrorText } from './flow/run-tool.ts';
export { withCredentials } from './flow/with-credentials.ts';
export type { InvocationOptions } from './invocation/invocation.ts';
export { runInvocation } from './invocation/invocation.ts';
export { turnNeed } from './invocation/turn-need.ts';
export type { HeldStep } from './journal/held-step.ts';
export { newestRun } from './journal/journal.ts';
export type { Embedder } from './memory/embedder.ts';
export { InMemoryMemoryService } from './memory/in-memory-memory-service.ts';
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
export type { GeminiEmbedderOptions } from './models/gemini-embedder.ts';
export { GeminiEmbedder } from './models/gemini-embedder.ts';
export type { BaseLlmType } from './models/registry.ts';
export { LLMRegistry } from './models/registry.ts';
export type { LlmRouter, RoutedLlmOptions } from './models/routed-llm.ts';
export { RoutedLlm } from './models/routed-llm.ts';
export type { Router, RoutingErrorContext } from './models/routing.ts';
export { GlobalInstructionPlugin } from './plugins/global-instruction-plugin.ts';
export type { LogLine } from './plugins/logging-plugin.ts';
export { LoggingPlugin } from './plugins/logging-plugin.ts';
export { assertContinues } from './questions/assert-continues.ts';
export { answerToQuestion, isPassedOn } from './questions/questions.ts';
export { isRefused, orRefused, refusedReason } from './questions/refusal.ts';
export type { UserInputKind, UserInputRequest } from './questions/user-input-request.ts';
export {
  getPendingUserInputRequests,
  getUserInputRequests,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
  requiresUserInput,
} from './questions/user-input-request.ts';
export type { UserMessage } from './questions/user-message.ts';
export { askerCancelled, readMessage } from './questions/user-message.ts';
export type { AppOptions, ResumabilityConfig } from './runner/app.ts';
export {
  App,
  assertResumability,
  createResumabilityConfig,
  notResumable,
  validateAppName,
} from './runner/app.ts';
export type { RunConfig } from './runner/run-config.ts';
export { readRunConfig } from './runner/run-config.ts';
export type {
  EphemeralRunRequest,
  InMemoryRunnerConfig,
  RunnerConfig,
  RunnerRoot,
  RunRequest,
} from './runner/runner.ts';
export { closeToolsets, InMemoryRunner, Runner } from './runner/runner.ts';
export { StreamingMode } from './runner/streaming-mode.ts';
export * from './runner/type-guards.ts';
export type { AnswerSchema, JsonSchema } from './schema/answer-schema.ts';
export type {
  ToolParameters,
  ToolParameters as LlmAgentSchema,
  ToolParameters as SchemaLike,
} from './schema/schema.ts';
export { toGenaiSchema, zodToSchema, zodToSchema as zodObjectToSchema } from './schema/schema.ts';
export type { ClosedCall, PendingCall } from './sessions/derive-pending.ts';
export { answerDigest, askingEvent, pendingChanges, turnChanges } from './sessions/derive-pending.ts';
export { InMemorySessionService } from './sessions/in-memory/session-service.ts';
export type {
  Attempt,
  InvocationRecord,
  InvocationRef,
  Invocations,
  RunEnd,
  RunEnding,
} from './sessions/invocations.ts';
export { askedAgain, askedAgainReason, endOfRun } from './sessions/invocations.ts';
export type { SessionOverrides } from './sessions/override-sessions.ts';
export { overrideSessions } from './sessions/override-sessions.ts';
export type { AnswerClaim, AnswerState, CallRef, PendingCalls } from './sessions/pending-calls.ts';
export { hasAnswer } from './sessions/pending-calls.ts';
export type { Session } from './sessions/session.ts';
export { unreadBefore } from './sessions/session.ts';
export type { SessionHeadsOptions } from './sessions/session-cache.ts';
export { SessionHeads } from './sessions/session-cache.ts';
export { elsewhere, noSession, notTheSame, takenOver } from './sessions/session-errors.ts';
export type { ForkOptions } from './sessions/session-history.ts';
export { forkSession, importSession, rewindSession } from './sessions/session-history.ts';
export type { SessionLeases, TakenSession, TakeOptions, WhenBusy } from './sessions/session-leases.ts';
export { defaultLeaseMs } from './sessions/session-leases.ts';
export type { ListSessionsRequest, ListSessionsResponse } from './sessions/session-list.ts';
export { getOrCreateSession, listed, sliceOf } from './sessions/session-list.ts';
export type {
  HistoryPart,
  ReadEventsRequest,
  SessionLog,
  StoredEvent,
  TurnNeed,
  TurnSession,
} from './sessions/session-log.ts';
export { assertCount, assertStorable } from './sessions/session-log.ts';
export type {
  AppendEventRequest,
  CreateSessionRequest,
  DeleteSessionOptions,
  DeleteSessionRequest,
  DeleteSessionRequest as CompositeSessionKey,
  GetSessionConfig,
  GetSessionRequest,
  SessionService,
  SessionService as BaseSessionService,
} from './sessions/session-service.ts';
export type { DeletedRecords, KeptSession, UserOwner, UserRecords } from './sessions/user-records.ts';
export type { AuthenticatedFunctionToolOptions } from './tools/authenticated-function-tool.ts';
export { AuthenticatedFunctionTool } from './tools/authenticated-function-tool.ts';
export { EXIT_LOOP, ExitLoopTool } from './tools/exit-loop-tool.ts';
export type {
  FunctionToolOptions,
  RequireConfirmation,
  ToolArgs,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolInputParameters,
  ToolOptions,
} from './tools/function-tool.ts';
export { FunctionTool, LongRunningFunctionTool, ToolArgumentsError } from './tools/function-tool.ts';
export {
  ENTERPRISE_WEB_SEARCH,
  EnterpriseWebSearchTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  GoogleMapsGroundingTool,
  GoogleSearchTool,
  URL_CONTEXT,
  UrlContextTool,
} from './tools/google-tools.ts';
export {
  LoadArtifactsTool,
  loadArtifactsTool,
  loadArtifactsTool as LOAD_ARTIFACTS,
} from './tools/load-artifacts-tool.ts';
export { LoadMemoryTool, loadMemoryTool, loadMemoryTool as LOAD_MEMORY } from './tools/load-memory-tool.ts';
export {
  PreloadMemoryTool,
  preloadMemoryTool,
  preloadMemoryTool as PRELOAD_MEMORY,
} from './tools/preload-memory-tool.ts';
export { requestInputTool } from './tools/request-input-tool.ts';
export { ToolConfirmation } from './tools/tool-confirmation.ts';
export { getUserChoiceTool } from './tools/user-choice-tool.ts';
export type { LoopAgentConfig } from './workflow/loop-agent.ts';
export { LoopAgent } from './workflow/loop-agent.ts';
export { ParallelAgent } from './workflow/parallel-agent.ts';
export type { AgentRouter, RoutedAgentConfig } from './workflow/routed-agent.ts';
export { RoutedAgent } from './workflow/routed-agent.ts';
export { SequentialAgent } from './workflow/sequential-agent.ts';

/**
 * Names for the other libraries of agentmesh, which run agents on the mesh and keep their sessions. They may
 * change with every version: user code imports from `@agentmesh/agent`.
 */
export type { AgentAnswer } from './agent-tool/agent-answer.ts';
export { readAnswer } from './agent-tool/agent-answer.ts';
export type { Askable } from './agent-tool/agent-tool.ts';
export { checkAsk } from './agent-tool/agent-tool.ts';
export { openSession } from './agent-tool/child-session.ts';
export { artifactsOfSession } from './agent-tool/forward-artifacts.ts';
export { forwardEvents } from './agent-tool/forward-events.ts';
export { stateForAsk } from './agent-tool/shared-state.ts';
export type { ArtifactOwner, OwnedFile, StoredVersion } from './artifacts/base-artifact-service.ts';
export { artifactUri, fileOf, versionInfo } from './artifacts/base-artifact-service.ts';
export { bytesOf, streamOf } from './artifacts/byte-stream.ts';
export type { ArtifactAbout } from './artifacts/stored-part.ts';
export {
  aboutStream,
  artifactAboutSchema,
  assertVersion,
  isBase64,
  isMimeType,
  putTogether,
  takeApart,
} from './artifacts/stored-part.ts';
export { credentialReason, isCredentialFailure } from './auth/credential-steps.ts';
export type { CredentialServices } from './auth/find-credential.ts';
export type { ContextOptions, ContextOrigin } from './base/context.ts';
export { isCallersFault } from './base/failure.ts';
export { invocationServiceNames } from './base/invocation-context.ts';
export { compactorsOf } from './compaction/events-compaction-config.ts';
export type { CredentialOwner, CredentialRecords, KeptCredential } from './credentials/credential-service.ts';
export { aboutCredential } from './credentials/credential-service.ts';
export type { KeptSignIn, SignIn, SignInRef, SignInStatus } from './credentials/sign-in-service.ts';
export { signInTtlMs } from './credentials/sign-in-service.ts';
export { credentialToSave, endOf } from './credentials/validity.ts';
export { isInPath, pathOf } from './events/agent-path.ts';
export { deadlinePassed } from './events/deadlines.ts';
export { asGenerator } from './events/emit.ts';
export {
  functionCallIdPrefix,
  isResumeId,
  newFunctionCallId,
  newInvocationId,
  newResumeId,
  tokensOf,
} from './events/event.ts';
export { deepFreeze } from './events/freeze.ts';
export { logIndex, noteUnread } from './events/log-index.ts';
export { questionNames, questionOf } from './events/question.ts';
export { isCredentialQuestion } from './events/question-id.ts';
export type { RunId } from './events/run-ids.ts';
export {
  closingEventId,
  continuationPrefix,
  failureEventId,
  isFailure,
  messageEventId,
  runKey,
  runName,
  runOfName,
} from './events/run-ids.ts';
export type { StateScope } from './events/state.ts';
export { pickScopes, scopeOf } from './events/state.ts';
export { progressId } from './flow/call-events.ts';
export { isReservedName } from './flow/next-step.ts';
export { failureOf, toolErrorText, withCredentials } from './flow/run-tool.ts';
export { FirstWord, type ToolOutcome, workOf } from './flow/tool-work.ts';
export { endsPart, hear, heldCopy, heldSessions, heldStep, loggedSeq } from './invocation/hold-step.ts';
export { type InvocationOptions, runInvocation } from './invocation/invocation.ts';
export { plainMessageEvent } from './invocation/message-event.ts';
export { turnNeed } from './invocation/turn-need.ts';
export { clientInputOf, clientMetadata } from './journal/client-input.ts';
export type { HeldStep } from './journal/held-step.ts';
export { newestRun } from './journal/journal.ts';
export { impactOf } from './memory/ranking.ts';
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
export { geminiKeyOf } from './models/gemini-key.ts';
export { assertContinues } from './questions/assert-continues.ts';
export { unknownPerson, unknownSource, wasAccepted } from './questions/may-answer.ts';
export { answerToQuestion, isPassedOn } from './questions/questions.ts';
export { askerCancelled, readMessage } from './questions/read-message.ts';
export { isRefused, orRefused } from './questions/refusal.ts';
export { assertResumability, notResumable } from './runner/app.ts';
export { closeToolsets } from './runner/close-toolsets.ts';
export { readRunConfig } from './runner/run-config.ts';
export { toGenaiSchema } from './schema/schema.ts';
export { copySession } from './sessions/copy-session.ts';
export { answerDigest, askingEvent, pendingChanges, turnChanges } from './sessions/derive-pending.ts';
export type {
  Attempt,
  CallCount,
  EndedInvocation,
  EndingCommit,
  InvocationRecord,
  InvocationRef,
  Invocations,
  RunEnd,
  RunEnding,
  SessionWork,
} from './sessions/invocations.ts';
export {
  askedAgainReason,
  closedPartError,
  endOfRun,
  newerAttemptError,
  recordedEnd,
  statusOfRecord,
} from './sessions/invocations.ts';
export type { SessionOverrides } from './sessions/override-sessions.ts';
export { overrideSessions } from './sessions/override-sessions.ts';
export type { Overview, RecentRun, RecentRunsPage } from './sessions/overview.ts';
export { mostRecentRuns } from './sessions/overview.ts';
export type { AnswerReservation, AnswerState, CallRef, PendingCalls } from './sessions/pending-calls.ts';
export { callAnsweredError } from './sessions/pending-calls.ts';
export { addEvent, incarnationOf, noteIncarnation, unreadBefore } from './sessions/session.ts';
export { SessionCache } from './sessions/session-cache.ts';
export {
  historyGapError,
  noSession,
  sessionReplacedError,
  takeoverError,
} from './sessions/session-errors.ts';
export type {
  HeldSession,
  NextRun,
  NextRunOptions,
  PromoteOptions,
  SessionLeases,
  SessionView,
  SilentHolder,
  TakenSession,
  TakeOptions,
  UserLimits,
  WhenBusy,
} from './sessions/session-leases.ts';
export { defaultLeaseMs } from './sessions/session-leases.ts';
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
export type { DeleteSessionOptions } from './sessions/session-service.ts';
export type { KeptSession, UserOwner, UserRecords } from './sessions/user-records.ts';

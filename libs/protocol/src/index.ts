export { unlessAborted } from './abort.ts';
export { isAtLeast, oldestNats } from './addresses/nats-version.ts';
export type { RedisAddress } from './addresses/redis-address.ts';
export { parseRedisUrl } from './addresses/redis-address.ts';
export { AsyncDisposableStack, isSuppressedError } from './disposable-stack.ts';
export type { ErrorCode, ErrorKind, MeshErrorOptions, WireError } from './errors/mesh-error.ts';
export { errorTable, MeshError } from './errors/mesh-error.ts';
export { meshClock, meshTime, noteMeshTime } from './mesh-time.ts';
export type { AnsweringRun, Voucher } from './messages/answer-source.ts';
export { readSource, signSource } from './messages/answer-source.ts';
export type { AnsweredBy, AuditAction, StoredAuditRecord } from './messages/answered-by.ts';
export { auditRecordSchema } from './messages/answered-by.ts';
export type { Caller, CallersWork } from './messages/caller.ts';
export { callerSchema, readCaller, signCaller } from './messages/caller.ts';
export type { AgentCard, Card, CardInput, Provisioned, StoredCard, ToolCard } from './messages/card.ts';
export { agentCardSchema, cardSchema, provisionedSchema, readCard, toolCardSchema } from './messages/card.ts';
export type { ClientInput, ClientTool } from './messages/client-input.ts';
export { clientInputSchema, clientKey } from './messages/client-input.ts';
export type {
  Answer,
  Ask,
  AskInput,
  DeadLetter,
  InvocationEnd,
  RunCommand,
  RunCommandInput,
  RunConfig,
  ToolCall,
  ToolCallInput,
  ToolResult,
  WaitingRun,
} from './messages/command.ts';
export {
  answerSchema,
  askSchema,
  cancelSchema,
  deadLetterSchema,
  invocationEndSchema,
  runCommandSchema,
  runConfigSchema,
  toolCallSchema,
  toolReplySchema,
  toolResultSchema,
  waitingRunSchema,
  whenBusySchema,
} from './messages/command.ts';
export { contentSchema, messageSchema, partSchema } from './messages/content.ts';
export type {
  AttemptMark,
  ConfirmableBy,
  Event,
  EventActions,
  InputRequest,
  ToolConfirmation,
} from './messages/event.ts';
export {
  attemptKey,
  attemptOf,
  confirmableBySchema,
  eventActionsSchema,
  eventSchema,
  inputRequestSchema,
  replicaKey,
  stepKey,
  traceKey,
  versionKey,
} from './messages/event.ts';
export type { Frame, FrameType } from './messages/frame.ts';
export { frameTypes, isFrameType, wireErrorSchema } from './messages/frame.ts';
export type { Headers } from './messages/headers.ts';
export { aloneHeader, deadlineOf, header, maxDepth } from './messages/headers.ts';
export type { FoundFile, KeeperAnswer, KeeperRequest } from './messages/keeper.ts';
export { keeperAnswerSchema, keeperAnswers, keeperRequestSchema, pieceBytes } from './messages/keeper.ts';
export type { SecretAnswer, SecretRequest } from './messages/keeper-secrets.ts';
export {
  answerRight,
  credentialRight,
  rightFor,
  secretAnswerSchema,
  secretAnswers,
  secretRequestSchema,
  signInRight,
} from './messages/keeper-secrets.ts';
export type {
  Job,
  JobInput,
  OperationUpdate,
  OperationUpdateInput,
  PendingNews,
} from './messages/operation.ts';
export {
  jobSchema,
  operationUpdateSchema,
  pendingNewsSchema,
  pendingReplySchema,
  pendingRequestSchema,
} from './messages/operation.ts';
export type { Signer } from './messages/signer.ts';
export { createSigner } from './messages/signer.ts';
export {
  beginUnder,
  failSpan,
  linkSpan,
  recordTraceContent,
  setContent,
  setFailed,
  startSpan,
  traceparentOf,
  underSpan,
} from './messages/span.ts';
export { nextTrace, readTraceparent, traceIdOf } from './messages/trace.ts';
export type { KeyPatterns } from './names/key-patterns.ts';
export { keyPatterns } from './names/key-patterns.ts';
export type { Keys, MemoryKeys } from './names/keys.ts';
export { keys } from './names/keys.ts';
export { agentNameSchema, assertName, toolNameSchema, versionSchema } from './names/names.ts';
export { createReplicaId, isReplicaOf } from './names/replica.ts';
export { shortId } from './names/short-id.ts';
export { invocationIdOf, isStartedIn, newStarter, noStarter, starterOf } from './names/starter.ts';
export type {
  ClaimKind,
  NameOrEvery,
  QueueKind,
  QueueName,
  ServiceKind,
  SessionRef,
  Sessions,
  SubjectKind,
  Subjects,
} from './names/subjects.ts';
export {
  every,
  everySession,
  newSession,
  readEventSubject,
  readKeeperSubject,
  readOperation,
  readSecretSubject,
  subjects,
  subjectTable,
  watchOf,
} from './names/subjects.ts';
export {
  decodeToken,
  encodeName,
  encodeToken,
  isToken,
  maxNameTokenLength,
  maxTokenLength,
} from './names/token.ts';
export { camelizeKeys, withoutNulls } from './parsing/casing.ts';
export { digestOf } from './parsing/digest.ts';
export { assertKnownFields, assertNoTypos } from './parsing/known-fields.ts';
export { nearest } from './parsing/nearest.ts';
export type { OptionKind } from './parsing/option-kinds.ts';
export {
  flagKind,
  functionKind,
  kindOf,
  listOf,
  objectKind,
  oneOf,
  oneOrMore,
  textKind,
  timeKind,
} from './parsing/option-kinds.ts';
export type { OptionNames, OptionRules } from './parsing/options.ts';
export { assertOptions } from './parsing/options.ts';
export { parse } from './parsing/parse.ts';
export type { JsonSource } from './parsing/parse-json.ts';
export { changedNumber, parseJson, withoutMark } from './parsing/parse-json.ts';
export { keptJson, maxPayloadBytes } from './parsing/payload-limit.ts';
export type { JsonEntry } from './parsing/to-json.ts';
export { jsonEntries, toJson } from './parsing/to-json.ts';
export { apiKeyHash, apiKeyPrefix, isApiKey, newApiKey } from './secrets/api-key.ts';
export type { KeyWrapper } from './secrets/key-wrapper.ts';
export { keyRingWrapper } from './secrets/key-wrapper.ts';
export type { PublicKey, ReceiverKeys } from './secrets/sealed-message.ts';
export { newReceiverKeys, receiverKeysOf, sealMessage } from './secrets/sealed-message.ts';
export type { KeyRingBox, SecretBox } from './secrets/secret-box.ts';
export {
  createSecretBox,
  credentialKeysVariable,
  dataKeyBox,
  hasDataKey,
  isLostSecret,
  isOutdatedSecret,
  newCredentialKeys,
} from './secrets/secret-box.ts';
export type { SecretUse } from './secrets/secret-use.ts';

export { unlessAborted } from './abort.ts';
export type { RedisAddress } from './addresses/redis-address.ts';
export { parseRedisUrl } from './addresses/redis-address.ts';
export { AsyncDisposableStack, isSuppressedError } from './disposable-stack.ts';
export type { ErrorCode, ErrorKind, MeshErrorOptions, WireError } from './errors/mesh-error.ts';
export { errorTable, MeshError } from './errors/mesh-error.ts';
export type { AnsweredBy } from './messages/answered-by.ts';
export type { AgentCard, Card, CardInput, Provisioned, ToolCard } from './messages/card.ts';
export { agentCardSchema, cardSchema, provisionedSchema, toolCardSchema } from './messages/card.ts';
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
  toolResultSchema,
  waitingRunSchema,
  whenBusySchema,
} from './messages/command.ts';
export { contentSchema, messageSchema } from './messages/content.ts';
export type { ConfirmableBy, Event, EventActions, InputRequest, ToolConfirmation } from './messages/event.ts';
export {
  confirmableBySchema,
  eventActionsSchema,
  eventSchema,
  inputRequestSchema,
  replicaKey,
  stepKey,
} from './messages/event.ts';
export type { Frame, FrameType } from './messages/frame.ts';
export { frameTypes, isFrameType } from './messages/frame.ts';
export type { Headers } from './messages/headers.ts';
export { deadlineOf, header, maxDepth } from './messages/headers.ts';
export type {
  Job,
  JobInput,
  OperationUpdate,
  OperationUpdateInput,
  PendingNews,
} from './messages/operation.ts';
export { jobSchema, operationUpdateSchema, pendingRequestSchema } from './messages/operation.ts';
export { nextTrace, traceIdOf } from './messages/trace.ts';
export type { KeyPatterns } from './names/key-patterns.ts';
export { keyPatterns } from './names/key-patterns.ts';
export type { Keys, MemoryKeys } from './names/keys.ts';
export { keys } from './names/keys.ts';
export { agentNameSchema, assertName, toolNameSchema } from './names/names.ts';
export { createReplicaId, isReplicaOf } from './names/replica.ts';
export { shortId } from './names/short-id.ts';
export type {
  ClaimKind,
  QueueKind,
  QueueName,
  ServiceKind,
  SessionRef,
  SubjectKind,
  Subjects,
} from './names/subjects.ts';
export { every, newSession, readOperation, subjects, subjectTable } from './names/subjects.ts';
export {
  decodeToken,
  encodeName,
  encodeToken,
  isToken,
  maxNameTokenLength,
  maxTokenLength,
} from './names/token.ts';
export { camelizeKeys, withoutNulls } from './parsing/casing.ts';
export { assertKnownFields, assertNoTypos } from './parsing/known-fields.ts';
export { nearest } from './parsing/nearest.ts';
export type { OptionNames, OptionRules } from './parsing/options.ts';
export { assertOptions } from './parsing/options.ts';
export { parse } from './parsing/parse.ts';
export { keptJson, maxPayloadBytes } from './parsing/payload-limit.ts';
export type { JsonEntry } from './parsing/to-json.ts';
export { jsonEntries, toJson } from './parsing/to-json.ts';
export type { SecretBox } from './secrets/secret-box.ts';
export {
  createSecretBox,
  credentialKeysVariable,
  isOutdatedSecret,
  newCredentialKeys,
} from './secrets/secret-box.ts';

export { unlessAborted } from './abort.ts';
export type { AgentCard, Card, CardInput, ToolCard } from './card.ts';
export { agentCardSchema, cardSchema, toolCardSchema } from './card.ts';
export { camelizeKeys, withoutNulls } from './casing.ts';
export type {
  Answer,
  AnsweredBy,
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
} from './command.ts';
export {
  answeredBySchema,
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
} from './command.ts';
export { contentSchema, messageSchema } from './content.ts';
export type { ErrorCode, ErrorKind, MeshErrorOptions, WireError } from './errors.ts';
export { errorTable, MeshError } from './errors.ts';
export type { Event, EventActions, InputRequest, ToolConfirmation } from './event.ts';
export { eventActionsSchema, eventSchema, inputRequestSchema, replicaKey, stepKey } from './event.ts';
export type { Frame, FrameType } from './frame.ts';
export { frameTypes, isFrameType } from './frame.ts';
export type { Headers } from './headers.ts';
export { deadlineOf, header, maxDepth } from './headers.ts';
export type { JsonEntry } from './json.ts';
export { jsonEntries, toJson } from './json.ts';
export type { Keys, MemoryKeys } from './keys.ts';
export { keys } from './keys.ts';
export { assertKnownFields, assertNoTypos } from './known-fields.ts';
export { agentNameSchema, assertName, toolNameSchema } from './names.ts';
export { nearest } from './nearest.ts';
export type {
  Job,
  JobInput,
  OperationUpdate,
  OperationUpdateInput,
  PendingNews,
} from './operation.ts';
export { jobSchema, operationUpdateSchema, pendingRequestSchema } from './operation.ts';
export type { OptionNames, OptionRules } from './options.ts';
export { assertOptions } from './options.ts';
export { parse } from './parse.ts';
export { keptJson, maxPayloadBytes } from './payload-limit.ts';
export type { RedisAddress } from './redis-address.ts';
export { parseRedisUrl } from './redis-address.ts';
export { createReplicaId, isReplicaOf } from './replica.ts';
export type { SecretBox } from './secret-box.ts';
export { createSecretBox, credentialKeysVariable, newCredentialKeys } from './secret-box.ts';
export { shortId } from './short-id.ts';
export type { ClaimKind, QueueKind, QueueName, ServiceKind, SessionRef, Subjects } from './subjects.ts';
export { every, subjects } from './subjects.ts';
export {
  decodeToken,
  encodeName,
  encodeToken,
  isToken,
  maxNameTokenLength,
  maxTokenLength,
} from './token.ts';
export { nextTrace, traceIdOf } from './trace.ts';

import { randomUUID } from 'node:crypto';
import { type ErrorCode, type Event, type EventActions, meshTime } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse, Part } from '@google/genai';

/** Prefix of function-call ids that the framework made. They are removed before a prompt goes to a model. */
export const functionCallIdPrefix = 'adk-';

/** Error code of an event of an agent that has used up its model calls. */
export const overLimitCode = 'resource_exhausted' satisfies ErrorCode;

/** Makes a random id. */
export function newId(prefix = ''): string {
  const id = prefix + randomUUID();
  // Node joins an id of twenty pieces, which V8 keeps one by one until something needs the text in one piece.
  wholeText.test(id);
  return id;
}

const wholeText = /^$/;

export function newFunctionCallId(): string {
  return newId(functionCallIdPrefix);
}

export function newInvocationId(): string {
  return newId('e-');
}

/** Makes the id of a run that continues an invocation. */
export function newResumeId(): string {
  return newId('r-');
}

/** Tells whether a text has the form of a {@link newResumeId}. */
export function isResumeId(text: string): boolean {
  return /^r-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** Makes actions with all maps present; the given fields take precedence. */
export function createEventActions(fields: Partial<EventActions> = {}): EventActions {
  return {
    stateDelta: {},
    artifactDelta: {},
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
    ...fields,
  };
}

/** Tells whether actions change anything. */
export function hasEffect(actions: EventActions): boolean {
  return Object.values(actions).some((value) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined,
  );
}

/** Merges actions in order: maps key by key; of other fields the last value wins. */
export function mergeEventActions(sources: readonly Partial<EventActions>[]): EventActions {
  const merged = createEventActions();
  for (const {
    stateDelta,
    artifactDelta,
    requestedAuthConfigs,
    requestedToolConfirmations,
    requestedInputs,
    ...plain
  } of sources) {
    Object.assign(merged.stateDelta, stateDelta);
    Object.assign(merged.artifactDelta, artifactDelta);
    Object.assign(merged.requestedAuthConfigs, requestedAuthConfigs);
    Object.assign(merged.requestedToolConfirmations, requestedToolConfirmations);
    if (requestedInputs) merged.requestedInputs = { ...merged.requestedInputs, ...requestedInputs };
    for (const [key, value] of Object.entries(plain))
      if (value !== undefined) Object.assign(merged, { [key]: value });
  }
  return merged;
}

export type CreateEventParams = Omit<Partial<Event>, 'actions'> & { actions?: Partial<EventActions> };

/** Makes an event with an id, a timestamp and complete actions; the given fields take precedence. */
export function createEvent(fields: CreateEventParams = {}): Event {
  return {
    id: newId(),
    invocationId: '',
    timestamp: meshTime(),
    longRunningToolIds: [],
    ...fields,
    actions: createEventActions(fields.actions),
  };
}

/** An event, or another value with content. */
type WithContent = Pick<Event, 'content'>;

function partsOf({ content }: WithContent): Part[] {
  return content?.parts ?? [];
}

/** Returns the function calls of an event, in order. */
export function getFunctionCalls(event: WithContent): FunctionCall[] {
  const calls: FunctionCall[] = [];
  for (const { functionCall } of partsOf(event)) if (functionCall) calls.push(functionCall);
  return calls;
}

/** Returns the function responses of an event, in order. */
export function getFunctionResponses(event: WithContent): FunctionResponse[] {
  const responses: FunctionResponse[] = [];
  for (const { functionResponse } of partsOf(event)) if (functionResponse) responses.push(functionResponse);
  return responses;
}

/**
 * Tells whether the event is the last event of its author's turn. True for an answer as text, an error, a
 * function response whose summary is skipped, a pending call, and a request for credentials. The caller
 * checks whether a person wrote the event.
 */
export function isFinalResponse(event: Event): boolean {
  if (event.actions.compaction) return false;
  if (event.actions.skipSummarization) return true;
  if (event.longRunningToolIds?.length) return true;
  if (Object.keys(event.actions.requestedAuthConfigs).length > 0) return true;
  return (
    !event.partial &&
    getFunctionCalls(event).length === 0 &&
    getFunctionResponses(event).length === 0 &&
    partsOf(event).at(-1)?.codeExecutionResult === undefined
  );
}

/** Joins the text parts of an event, without thoughts: they are not for the reader. */
export function stringifyContent(event: WithContent): string {
  return answerTexts(event).join('');
}

/** Returns the text parts of an event, without thoughts and empty texts. */
export function answerTexts(event: WithContent): string[] {
  return partsOf(event).flatMap(({ text, thought }) => (text && !thought ? [text] : []));
}

/**
 * Returns the number of tokens of a model call, prompt and answer together; 0 when the model reports none.
 */
export function tokensOf({ usageMetadata }: Event): number {
  const tokens = usageMetadata?.totalTokenCount ?? 0;
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
}

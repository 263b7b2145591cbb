import { randomUUID } from 'node:crypto';
import type { ErrorCode, Event, EventActions } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse, Part } from '@google/genai';

/** Function-call ids that we made; they are taken out again before a prompt goes to a model. */
export const functionCallIdPrefix = 'adk-';

/** Error code of an event whose agent may ask no model any more. */
export const overLimitCode = 'resource_exhausted' satisfies ErrorCode;

export function newFunctionCallId(): string {
  return `${functionCallIdPrefix}${randomUUID()}`;
}

export function newInvocationId(): string {
  return `e-${randomUUID()}`;
}

/** Id of a run that continues an invocation. */
export function newResumeId(): string {
  return `r-${randomUUID()}`;
}

/** Actions with every map there; given fields win. */
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

/** Puts actions together in order: maps are merged key by key, of plain fields the last one set wins. */
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

/** An event with an id, a timestamp and whole actions; given fields win. */
export function createEvent(fields: CreateEventParams = {}): Event {
  return {
    id: randomUUID(),
    invocationId: '',
    timestamp: Date.now(),
    longRunningToolIds: [],
    ...fields,
    actions: createEventActions(fields.actions),
  };
}

function partsOf(event: Event): Part[] {
  return event.content?.parts ?? [];
}

/** The function calls of an event, in order. */
export function getFunctionCalls(event: Event): FunctionCall[] {
  return partsOf(event).flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
}

/** The function responses of an event, in order. */
export function getFunctionResponses(event: Event): FunctionResponse[] {
  return partsOf(event).flatMap(({ functionResponse }) => (functionResponse ? [functionResponse] : []));
}

/**
 * Does its author say no more after this event? True for an answer in words, an error, a function response whose summary
 * is skipped, a call that stays open, and a request for credentials. Whether a person wrote it is for the caller to check.
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

/** Joins the text parts of an event. Thoughts are left out: they are not meant for the reader. */
export function stringifyContent(event: Event): string {
  return answerTexts(event).join('');
}

/** The text parts of an event, without thoughts and empty ones. */
export function answerTexts(event: Event): string[] {
  return partsOf(event).flatMap(({ text, thought }) => (text && !thought ? [text] : []));
}

/** What a model counted for its answer, in and out; 0 where it did not. */
export function tokensOf({ usageMetadata }: Event): number {
  const tokens = usageMetadata?.totalTokenCount ?? 0;
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
}

import type { Event } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse } from '@google/genai';

/**
 * The names of calls by which agents ask people questions, as in ADK. Such a call is pending until somebody
 * answers it.
 */
export const questionNames = {
  confirmation: 'adk_request_confirmation',
  credential: 'adk_request_credential',
  input: 'adk_request_input',
} as const;

const reserved: ReadonlySet<string> = new Set(Object.values(questionNames));

/**
 * Tells whether a call with this name, or its response, is a question or an answer. The framework made the
 * call, not the model.
 */
export function isQuestionName(name: string | undefined): boolean {
  return name !== undefined && reserved.has(name);
}

/** A question for which a tool call waits. */
export interface Question {
  /** Id of the call that a person answers. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** Id of the tool call that waits. */
  callId: string;
  /** The event that asks. */
  event: Event;
  /** The answer, and the event that holds it. */
  answer: FunctionResponse | undefined;
  answeredIn?: Event;
}

/** Returns the question that a call of an event asks; undefined when the call is not a question. */
export function questionOf(event: Event, { id, name = '', args = {} }: FunctionCall): Question | undefined {
  const callId = isQuestionName(name) ? waitingCall(args) : undefined;
  if (id === undefined || callId === undefined) return undefined;
  return { id, name, args, callId, event, answer: undefined };
}

function waitingCall({ originalFunctionCall: original, functionCallId }: Record<string, unknown>) {
  if (typeof functionCallId === 'string') return functionCallId;
  const id = typeof original === 'object' && original !== null ? Reflect.get(original, 'id') : undefined;
  return typeof id === 'string' ? id : undefined;
}

import type { Event } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse } from '@google/genai';

/** How agents put questions to people: as calls of these names, which stay open until somebody answers. The names are ADK's. */
export const questionNames = {
  confirmation: 'adk_request_confirmation',
  credential: 'adk_request_credential',
  input: 'adk_request_input',
} as const;

const reserved: ReadonlySet<string> = new Set(Object.values(questionNames));

/** Is it a call, or the answer to one, that the framework makes to reach a person? It is no part of what a model said. */
export function isQuestionName(name: string | undefined): boolean {
  return name !== undefined && reserved.has(name);
}

/** A question that a tool call waits for. */
export interface Question {
  /** Id of the call that a person answers. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** Id of the tool call that waits. */
  callId: string;
  /** The event that asks. */
  event: Event;
  /** What came back, once it did, and with which event. */
  answer: FunctionResponse | undefined;
  answeredIn?: Event;
}

/** The question that a call of an event is, if it is one. */
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

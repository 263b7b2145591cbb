import { questionNames } from '@agentmesh/agent/internal';

/** A call that waits for an answer from outside, as an event or the list of pending calls shows it. */
export interface AskedCall {
  name: string;
  args: Record<string, unknown>;
  agent: string;
}

/** The longest part of arguments and responses that a line shows, in characters. */
const mostChars = 300;

/** Returns the question that a call asks people, in a sentence; undefined for a call of another kind. */
export function questionWords({ name, args, agent }: AskedCall): string | undefined {
  const { originalFunctionCall: call, toolConfirmation, message, prompt } = args as QuestionArgs;
  const called = call ? `${call.name ?? 'a tool'}(${short(call.args ?? {})})` : 'a tool';
  if (name === questionNames.confirmation) return withHint(`may ${agent} call ${called}?`, toolConfirmation);
  if (name === questionNames.credential) return `${called} needs a sign-in of the user`;
  if (name === questionNames.input) return String(message ?? prompt ?? `${agent} asks for an answer`);
  return undefined;
}

interface QuestionArgs {
  originalFunctionCall?: { name?: string; args?: object };
  toolConfirmation?: Confirmation;
  message?: unknown;
  prompt?: unknown;
}

interface Confirmation {
  hint?: string;
  payload?: unknown;
}

function withHint(question: string, { hint = '', payload }: Confirmation = {}): string {
  // The usual hint says how programs answer.
  const shown = hint.includes('{"confirmed": true}') ? '' : hint;
  const more = payload === undefined ? '' : `payload: ${short(payload)}`;
  return [question, shown, more].filter(Boolean).join('  ');
}

/** Returns the answer of a person in words; undefined for the response of another call. */
export function answerWords(name: string, response: Record<string, unknown>): string | undefined {
  const { confirmed, payload } = response;
  if (name === questionNames.confirmation && typeof confirmed === 'boolean')
    return [confirmed ? 'yes' : 'no', ...(payload === undefined ? [] : [short(payload)])].join(' ');
  if (name === questionNames.credential) return 'the sign-in is done';
  if (name === questionNames.input) return short('result' in response ? response.result : response);
  return undefined;
}

/** Returns a value as JSON, cut to one line. */
export function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= mostChars ? text : `${text.slice(0, mostChars)}…`;
}

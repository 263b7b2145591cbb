import type { Event } from '@agentmesh/protocol';
import type { AuthConfig } from '../credentials/auth-config.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { questionNames } from '../events/question.ts';

/** ADK's names of the calls by which agents ask people. */
export const REQUEST_CONFIRMATION_FUNCTION_CALL_NAME = questionNames.confirmation;
export const REQUEST_CREDENTIAL_FUNCTION_CALL_NAME = questionNames.credential;
export const REQUEST_INPUT_FUNCTION_CALL_NAME = questionNames.input;

export type UserInputKind = 'input' | 'credential' | 'confirmation';

/** A question to a person, for a program that shows it. */
export interface UserInputRequest {
  kind: UserInputKind;
  /** The id of the call. A function response with this id and {@link functionCallName} answers it. */
  interruptId: string;
  functionCallName: string;
  author?: string;
  message?: string;
  payload?: unknown;
  responseSchema?: unknown;
  /** The tool whose call is to be confirmed. */
  toolName?: string;
  authConfig?: AuthConfig;
}

const kinds: Readonly<Record<string, UserInputKind>> = {
  [questionNames.confirmation]: 'confirmation',
  [questionNames.credential]: 'credential',
  [questionNames.input]: 'input',
};

/** Lists the questions of an event. */
export function getUserInputRequests(event: Event): UserInputRequest[] {
  return getFunctionCalls(event).flatMap(({ id, name = '', args = {} }) => {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (!kind || id === undefined) return [];
    const author = event.author === undefined ? {} : { author: event.author };
    return [{ kind, interruptId: id, functionCallName: name, ...author, ...detailsOf(kind, args) }];
  });
}

/** Tells whether the event asks a person. */
export function requiresUserInput(event: Event): boolean {
  return getUserInputRequests(event).length > 0;
}

/** Lists the unanswered questions of a session, each once. */
export function getPendingUserInputRequests(events: readonly Event[]): UserInputRequest[] {
  const answered = new Set(events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id)));
  const open = events
    .flatMap(getUserInputRequests)
    .filter(({ interruptId }) => !answered.has(interruptId))
    .map((request) => [request.interruptId, request] as const);
  return [...new Map(open.toReversed()).values()].reverse();
}

function detailsOf(kind: UserInputKind, args: Record<string, unknown>): Partial<UserInputRequest> {
  if (kind === 'credential') return { ...textIn('message', args), authConfig: args.authConfig as AuthConfig };
  if (kind === 'input') return { ...textIn('message', args), ...present(args, 'payload', 'responseSchema') };
  const confirmation = recordOf(args.toolConfirmation);
  const { name } = recordOf(args.originalFunctionCall);
  return {
    ...(typeof confirmation.hint === 'string' && confirmation.hint && { message: confirmation.hint }),
    ...present(confirmation, 'payload'),
    ...(confirmation.payloadSchema !== undefined && { responseSchema: confirmation.payloadSchema }),
    ...(typeof name === 'string' && { toolName: name }),
  };
}

function textIn(key: 'message', args: Record<string, unknown>): Partial<UserInputRequest> {
  const text = args[key];
  return typeof text === 'string' ? { [key]: text } : {};
}

function present(args: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return Object.fromEntries(keys.flatMap((key) => (args[key] === undefined ? [] : [[key, args[key]]])));
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

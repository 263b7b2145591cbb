import type { AnsweredBy, Event, EventActions, ToolConfirmation } from '@agentmesh/protocol';
import type { Content, FunctionCall } from '@google/genai';
import type { InvocationContext } from '../base/invocation-context.ts';
import { isInPath, isOnBranch } from '../events/agent-path.ts';
import { isExpired, setDeadlines } from '../events/deadlines.ts';
import { createEvent, getFunctionCalls, mergeEventActions } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { type Question, questionNames } from '../events/question.ts';
import { questionIdOf } from '../events/question-id.ts';
import { stepAuthor } from '../journal/step-mark.ts';
import { inputOf } from './input-answer.ts';

/** Calls that run again because a person has answered their questions. */
export interface AnsweredCalls {
  /** The event in which the model made the calls. */
  event: Event;
  calls: FunctionCall[];
}

/**
 * Returns the running agent's calls that have an answered question and no response since. The answer need not
 * be the newest message: an answer whose run died before the call ran still counts. Name and arguments of the
 * call come from the model's event, never from the answer.
 */
export function answeredCalls({
  agent,
  session: { events },
  branch,
  path,
}: InvocationContext): AnsweredCalls | undefined {
  const index = logIndex(events);
  const allDue = [...index.dueQuestions];
  if (allDue.length === 0) return undefined;
  const dueQuestions = allDue.filter(
    ({ event }) =>
      stepAuthor(event) === agent.name &&
      isOnBranch(event.branch, branch) &&
      (path === undefined || isInPath(event, path)),
  );
  const due = new Set(dueQuestions.map(({ callId }) => callId));
  const event = index.firstCallOf(due, (each) => stepAuthor(each) === agent.name);
  if (!event) return undefined;
  return { event, calls: getFunctionCalls(event).filter(({ id }) => due.has(id ?? '')) };
}

/** The answers that a call receives when it runs again: the last answers, and the number of all answers. */
export interface CallAnswers {
  toolConfirmation?: ToolConfirmation;
  inputResponse?: unknown;
  /** Number of answers so far. */
  answers: number;
  /** True if one of the answers is a sign-in, false if none is; absent without an answer. */
  hasSignIn?: boolean;
  /** The response that ends the call when nobody answered its last question in time. */
  expired?: Record<string, unknown>;
}

export function answersTo(events: readonly Event[], callId: string | undefined): CallAnswers {
  const questions = logIndex(events).questionsOfCall(callId);
  if (questions.length === 0) return { answers: 0 };
  const answeredQuestions = questions.filter(({ answer }) => answer);
  const last = answeredQuestions.findLast(({ name }) => name === questionNames.confirmation);
  const toolConfirmation = last && confirmationOf(last);
  const input = answeredQuestions.findLast(({ name }) => name === questionNames.input);
  const expired = expiryOf(answeredQuestions.at(-1));
  return {
    answers: answeredQuestions.length,
    ...(answeredQuestions.length > 0 && {
      hasSignIn: answeredQuestions.some(({ name }) => name === questionNames.credential),
    }),
    ...(toolConfirmation && { toolConfirmation }),
    ...(input && { inputResponse: inputOf(input, input.answer?.response) }),
    ...(expired && { expired }),
  };
}

function expiryOf(question: Question | undefined): Record<string, unknown> | undefined {
  const response = question?.answer?.response;
  // Any client may send an answer that says "expired"; only the mesh marks an answer with `via: 'deadline'`.
  const by = question?.answeredIn?.customMetadata?.answeredBy as Partial<AnsweredBy> | undefined;
  if (by?.via !== 'deadline' || !isExpired(response)) return undefined;
  return { status: 'expired', error: response.error ?? 'nobody answered in time' };
}

function confirmationOf({ args, answer }: Question): ToolConfirmation {
  const { hint, payload } = (args.toolConfirmation ?? {}) as Partial<ToolConfirmation>;
  const confirmation = readConfirmation(answer?.response);
  const finalPayload = confirmation?.payload ?? payload;
  return {
    confirmed: confirmation?.confirmed === true,
    ...(hint !== undefined && { hint }),
    ...(finalPayload !== undefined && { payload: finalPayload }),
  };
}

/**
 * Reads the answer to a confirmation: `{confirmed, payload?}`. Returns undefined for an answer that says
 * neither yes nor no.
 */
export function readConfirmation(response: unknown): { confirmed: boolean; payload?: unknown } | undefined {
  const answer = unwrapAnswer(response);
  if (typeof answer?.confirmed !== 'boolean') return undefined;
  return { confirmed: answer.confirmed, ...('payload' in answer && { payload: answer.payload }) };
}

/** Returns the object in an answer to a confirmation. Some clients send it as JSON text under `response`. */
export function unwrapAnswer(response: unknown): Record<string, unknown> | undefined {
  if (typeof response !== 'object' || response === null) return undefined;
  if ('confirmed' in response || !('response' in response) || typeof response.response !== 'string')
    return { ...response };
  try {
    const inner: unknown = JSON.parse(response.response);
    return typeof inner === 'object' && inner !== null ? { ...inner } : undefined;
  } catch {
    return undefined;
  }
}

/** A call whose tool asked a question. */
export interface AskingCall {
  call: FunctionCall;
  actions: EventActions;
  /** Time limit for the answer, in ms; undefined for none. */
  answerWithinMs?: number | undefined;
}

/** Makes the event that asks for confirmations. The calls get no response before the answer. */
export function confirmationEvent(
  context: InvocationContext,
  asking: readonly AskingCall[],
): Event | undefined {
  const requests = asking.flatMap((each): QuestionRequest[] => {
    const toolConfirmation = each.actions.requestedToolConfirmations[each.call.id ?? ''];
    return toolConfirmation
      ? [{ ...each, argsOf: () => ({ originalFunctionCall: each.call, toolConfirmation }) }]
      : [];
  });
  return questionEvent(context, questionNames.confirmation, requests);
}

/**
 * Makes the event that asks for credentials. ADK JS 2.0.0 spells its arguments in snake_case, which its own
 * web UI does not read (ADK defect B11).
 */
export function credentialEvent(
  context: InvocationContext,
  asking: readonly AskingCall[],
): Event | undefined {
  const requests = asking.flatMap((each): QuestionRequest[] => {
    const authConfig = each.actions.requestedAuthConfigs[each.call.id ?? ''];
    return authConfig === undefined
      ? []
      : [{ ...each, argsOf: () => ({ functionCallId: each.call.id, authConfig }) }];
  });
  return questionEvent(context, questionNames.credential, requests);
}

/** Makes the event that asks for input. It holds the schema in our spelling and in ADK's. */
export function inputEvent(context: InvocationContext, asking: readonly AskingCall[]): Event | undefined {
  const requests = asking.flatMap((each): QuestionRequest[] => {
    const request = each.actions.requestedInputs?.[each.call.id ?? ''];
    if (!request) return [];
    const { responseSchema } = request;
    const both = responseSchema && { responseSchema, response_schema: responseSchema };
    const argsOf = (interruptId: string) => ({
      ...{ interruptId, ...request, ...both },
      originalFunctionCall: each.call,
    });
    return [{ ...each, argsOf }];
  });
  return questionEvent(context, questionNames.input, requests);
}

/** A call that asks a question, and the arguments of the question. */
interface QuestionRequest extends AskingCall {
  argsOf(questionId: string): Record<string, unknown>;
}

/**
 * Makes an event with questions; undefined when nothing is asked. The ids follow from the call and the number of
 * its questions so far. So a process that asks again after a crash asks the same question and not a second one.
 */
function questionEvent(
  { invocationId, agent, branch, session }: InvocationContext,
  name: string,
  requests: readonly QuestionRequest[],
): Event | undefined {
  if (requests.length === 0) return undefined;
  const index = logIndex(session.events);
  const questions = requests.map(({ argsOf, ...each }) => {
    const { id = '' } = each.call;
    const round = index.questionsOfCall(id).filter(({ answer }) => answer).length + 1;
    const kind = name.slice(name.lastIndexOf('_') + 1);
    const requestLimit = each.actions.requestedToolConfirmations[id]?.answerWithinMs;
    const answerWithinMs = requestLimit ?? each.answerWithinMs;
    const questionId = questionIdOf(id, kind, round);
    return { ...each, answerWithinMs, functionCall: { id: questionId, name, args: argsOf(questionId) } };
  });
  const [first] = questions;
  const event = createEvent({
    id: `${first?.functionCall.id}/${name}`,
    invocationId,
    author: agent.name,
    ...(branch !== undefined && { branch }),
    content: { role: 'user', parts: questions.map(({ functionCall }) => ({ functionCall })) },
    longRunningToolIds: questions.map(({ functionCall }) => functionCall.id),
    actions: mergeEventActions(questions.map(({ actions }) => actions)),
  });
  const deadlines = questions.flatMap(({ functionCall, answerWithinMs }): [string, number][] =>
    answerWithinMs === undefined ? [] : [[functionCall.id, event.timestamp + answerWithinMs]],
  );
  setDeadlines(event, new Map(deadlines));
  return event;
}

/**
 * Tells whether a caller may pass the question on: a confirmation or an input. The answer to a question for a
 * credential is a secret.
 */
export function isPassedOn(name: string): boolean {
  return name === questionNames.confirmation || name === questionNames.input;
}

/** Makes the message to an agent that asked a person within a call: the answer to its first open question. */
export function answerToQuestion(
  events: readonly Event[],
  { toolConfirmation, inputResponse }: Omit<CallAnswers, 'answers'>,
): Content | undefined {
  const open = [...logIndex(events).openQuestions].find(({ name }) => isPassedOn(name));
  if (!open) return undefined;
  const response =
    open.name === questionNames.input
      ? inputResponse !== undefined && { result: inputResponse }
      : toolConfirmation && answerOf(toolConfirmation);
  if (!response) return undefined;
  return { role: 'user', parts: [{ functionResponse: { id: open.id, name: open.name, response } }] };
}

function answerOf({ confirmed, payload }: ToolConfirmation) {
  return { confirmed, ...(payload !== undefined && { payload }) };
}

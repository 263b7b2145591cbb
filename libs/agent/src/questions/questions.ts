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

/** Calls that are made again now that a person has answered. */
export interface AnsweredCalls {
  /** The event in which the model made them. */
  event: Event;
  calls: FunctionCall[];
}

/**
 * The running agent's calls whose question is answered and that have no response since. The answer need not be the newest message: one whose
 * run died before the call was made still counts. What is called, and with what, is what the model said, never what came with the answer.
 */
export function answeredCalls({
  agent,
  session: { events },
  branch,
  path,
}: InvocationContext): AnsweredCalls | undefined {
  const index = logIndex(events);
  const own = [...index.dueQuestions].filter(
    ({ event }) =>
      stepAuthor(event) === agent.name &&
      isOnBranch(event.branch, branch) &&
      (path === undefined || isInPath(event, path)),
  );
  const due = new Set(own.map(({ callId }) => callId));
  const event = index.firstCallOf(due, (each) => stepAuthor(each) === agent.name);
  if (!event) return undefined;
  return { event, calls: getFunctionCalls(event).filter(({ id }) => due.has(id ?? '')) };
}

/** What a call is told when it is made again: what a person said to it last, and how often one was asked. */
export interface CallAnswers {
  toolConfirmation?: ToolConfirmation;
  inputResponse?: unknown;
  /** Number of answers so far. */
  answers: number;
  /** What the call ends with, as nobody answered its last question in time. */
  expired?: Record<string, unknown>;
}

export function answersTo(events: readonly Event[], callId: string | undefined): CallAnswers {
  const own = logIndex(events)
    .questionsOfCall(callId)
    .filter(({ answer }) => answer);
  const last = own.findLast(({ name }) => name === questionNames.confirmation);
  const toolConfirmation = last && confirmationOf(last);
  const told = own.findLast(({ name }) => name === questionNames.input);
  const expired = expiryOf(own.at(-1));
  return {
    answers: own.length,
    ...(toolConfirmation && { toolConfirmation }),
    ...(told && { inputResponse: inputOf(told, told.answer?.response) }),
    ...(expired && { expired }),
  };
}

function expiryOf(question: Question | undefined): Record<string, unknown> | undefined {
  const said = question?.answer?.response;
  // Anybody may say that something has expired; the mesh alone knows.
  const by = question?.answeredIn?.customMetadata?.answeredBy as Partial<AnsweredBy> | undefined;
  if (by?.via !== 'deadline' || !isExpired(said)) return undefined;
  return { status: 'expired', error: said.error ?? 'nobody answered in time' };
}

function confirmationOf({ args, answer }: Question): ToolConfirmation {
  const { hint, payload } = (args.toolConfirmation ?? {}) as Partial<ToolConfirmation>;
  const said = readConfirmation(answer?.response);
  const given = said?.payload ?? payload;
  return {
    confirmed: said?.confirmed === true,
    ...(hint !== undefined && { hint }),
    ...(given !== undefined && { payload: given }),
  };
}

/** Reads the answer to a confirmation: `{confirmed, payload?}`. Undefined for what says neither yes nor no. */
export function readConfirmation(response: unknown): { confirmed: boolean; payload?: unknown } | undefined {
  const said = unwrapAnswer(response);
  if (typeof said?.confirmed !== 'boolean') return undefined;
  return { confirmed: said.confirmed, ...('payload' in said && { payload: said.payload }) };
}

/** What an answer to a confirmation says: an object, or that as JSON text under `response`, as some clients send it. */
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

/** A call whose tool asked for something before it went on. */
export interface AskingCall {
  call: FunctionCall;
  actions: EventActions;
  /** How long the tool waits for what it asks, in ms; undefined for ever. */
  answerWithinMs?: number | undefined;
}

/** The event that asks for confirmations; the calls get no response before they are answered. */
export function confirmationEvent(
  context: InvocationContext,
  asking: readonly AskingCall[],
): Event | undefined {
  return questionEvent(context, questionNames.confirmation, asking, ({ call, actions }) => {
    const toolConfirmation = actions.requestedToolConfirmations[call.id ?? ''];
    return toolConfirmation && { originalFunctionCall: call, toolConfirmation };
  });
}

/** The event that asks for credentials. ADK JS 2.0.0 spells its arguments in snake_case, which its own web UI does not read (ADK defect B11). */
export function credentialEvent(
  context: InvocationContext,
  asking: readonly AskingCall[],
): Event | undefined {
  return questionEvent(context, questionNames.credential, asking, ({ call, actions }) => {
    const authConfig = actions.requestedAuthConfigs[call.id ?? ''];
    return authConfig === undefined ? undefined : { functionCallId: call.id, authConfig };
  });
}

/** The event that asks to be told something. The schema is there in our spelling and in ADK's. */
export function inputEvent(context: InvocationContext, asking: readonly AskingCall[]): Event | undefined {
  return questionEvent(context, questionNames.input, asking, ({ call, actions }, interruptId) => {
    const request = actions.requestedInputs?.[call.id ?? ''];
    if (!request) return undefined;
    const { responseSchema } = request;
    const both = responseSchema && { responseSchema, response_schema: responseSchema };
    return { interruptId, ...request, ...both, originalFunctionCall: call };
  });
}

/**
 * Ids follow from the call and from how often it has asked: a process that comes to this point again, after a crash, asks the same question
 * and not a second one.
 */
function questionEvent(
  { invocationId, agent, branch, session }: InvocationContext,
  name: string,
  asking: readonly AskingCall[],
  argsOf: (asking: AskingCall, questionId: string) => Record<string, unknown> | undefined,
): Event | undefined {
  const index = logIndex(session.events);
  const questions = asking.flatMap((each) => {
    const { id = '' } = each.call;
    const round = index.questionsOfCall(id).filter(({ answer }) => answer).length + 1;
    const kind = name.slice(name.lastIndexOf('_') + 1);
    const own = each.actions.requestedToolConfirmations[id]?.answerWithinMs;
    const answerWithinMs = own ?? each.answerWithinMs;
    const questionId = questionIdOf(id, kind, round);
    const args = argsOf(each, questionId);
    return args ? [{ ...each, answerWithinMs, functionCall: { id: questionId, name, args } }] : [];
  });
  const [first] = questions;
  if (!first) return undefined;
  const event = createEvent({
    id: `${first.functionCall.id}/${name}`,
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

/** Does a call ask what a caller can pass on: a confirmation, or an input? Of one for a credential the answer is a secret. */
export function isPassedOn(name: string): boolean {
  return name === questionNames.confirmation || name === questionNames.input;
}

/** What is said to an agent that asked a person within a call of it: the answer to its first open question. */
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

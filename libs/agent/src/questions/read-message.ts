import { isDeepStrictEqual } from 'node:util';
import { type Event, MeshError, meshTime, messageSchema, parse } from '@agentmesh/protocol';
import type { Content, FunctionResponse, Part } from '@google/genai';
import type { AuthConfig } from '../credentials/auth-config.ts';
import { credentialFrom } from '../credentials/credential-answer.ts';
import type { AnsweredCredential } from '../credentials/keep-answers.ts';
import { deadlineOfCall, deadlinePassed } from '../events/deadlines.ts';
import { getFunctionCalls } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isQuestionName, type Question, questionNames } from '../events/question.ts';
import { isFailure } from '../events/run-ids.ts';
import { assertName, checkAnswer } from './check-answer.ts';
import { type Answerer, assertMayAnswer, wasAccepted } from './may-answer.ts';

/** A user's message in the form for the log. */
export interface UserMessage {
  content: Content;
  /** The credentials of the message by question id. They are never in the log. */
  credentials: Map<string, AnsweredCredential>;
}

/**
 * Reads a message before it is committed. Its answers must belong to open questions of this session and fit
 * them. Secrets are taken out.
 *
 * @throws MeshError `invalid_argument` for a message without parts, for a part that no prompt could show, for calls
 * that only agents may make, and for answers that say neither yes nor no, or do not fit the schema of the question; `failed_precondition`
 * for an answer to a question or call that does not exist, is already answered, or whose run was cancelled,
 * and for an answer that names another call; `permission_denied` for another sign-in, and as {@link assertMayAnswer}
 */
export function readMessage(
  message: Content,
  { events, ...answerer }: { events: readonly Event[] } & Answerer,
): UserMessage {
  const { parts = [] } = parse(messageSchema, message, 'the message');
  if (parts.length === 0)
    throw new MeshError('invalid_argument', 'the message has no parts; give it a text or a response');
  if (parts.some((part) => Object.keys(part).length === 0))
    throw new MeshError('invalid_argument', 'the message has an empty part; give each part text or data');
  // Answers are matched with the calls of agents, so a client must not send calls: it could answer its own
  // question.
  const forged = parts.find(({ functionCall }) => functionCall)?.functionCall;
  if (forged) {
    throw new MeshError(
      'invalid_argument',
      `only agents call functions, such as ${forged.name}; send responses`,
    );
  }
  // An answer that was accepted before was in time then.
  const isInTime = answerer.answeredBy !== undefined && wasAccepted(answerer.answeredBy);
  const index = logIndex(events);
  const answeredHere = new Map<string, Question>();
  const closedHere = new Set<string>();
  const credentials = new Map<string, AnsweredCredential>();
  const read = parts.map((part): Part => {
    const { functionResponse: response } = part;
    const question = answeredHere.get(response?.id ?? '') ?? index.question(response?.id);
    if (!response) return part;
    if (!question && !isQuestionName(response.name)) {
      assertFirst(response, closedHere);
      return answerOf(response, { events, isInTime, isJob: answerer.answeredBy?.via === 'job' }, part);
    }
    const answered = openQuestion(question, response, events);
    answeredHere.set(answered.id, { ...answered, answer: response });
    if (answerer.answeredBy?.via === 'deadline') return expiredPart(part, answered);
    assertMayAnswer(answered, {
      ...answerer,
      senders: sendersIn(index.ofInvocation(answered.event.invocationId)),
    });
    if (!isInTime) assertInTime(answered.event, answered);
    const checked = checkAnswer(answered, response);
    if (answered.name !== questionNames.credential) return { ...part, functionResponse: checked };
    const authConfig = answered.args.authConfig as AuthConfig;
    const credential = credentialFrom(authConfig, response.response);
    credentials.set(answered.id, { credentialKey: authConfig.credentialKey, credential });
    return {
      ...part,
      functionResponse: {
        ...checked,
        response: { credentialKey: authConfig.credentialKey, received: true },
      },
    };
  });
  return { content: { ...message, parts: read }, credentials };
}

/** Returns the users who sent the messages of a user in these events, as far as they are other users. */
function sendersIn(events: readonly Event[]): string[] {
  return events.flatMap(({ author, customMetadata }) =>
    author === 'user' && typeof customMetadata?.sentBy === 'string' ? [customMetadata.sentBy] : [],
  );
}

/** Checks that an answer to an ordinary call has a content, and follows no outcome of the call in the same message. */
function assertFirst(
  { id, name = 'a function', response, willContinue }: FunctionResponse,
  closed: Set<string>,
): void {
  if (typeof response !== 'object' || response === null || Array.isArray(response)) {
    throw new MeshError(
      'invalid_argument',
      `the answer to call ${id ?? 'without an id'} of ${name} has no object "response"; send { "response": { … } }`,
    );
  }
  if (id !== undefined && closed.has(id)) {
    throw new MeshError(
      'invalid_argument',
      `the message has two outcomes for call ${id} of ${name}; send one, and mark progress before it with "willContinue": true`,
    );
  }
  if (id !== undefined && willContinue !== true) closed.add(id);
}

/**
 * Checks an answer to an ordinary call. An agent must have made the call, and the call must wait for an
 * answer from outside: the result of any other call comes from its tool alone. The answer comes once; earlier
 * progress is marked with `willContinue`, because otherwise a rejected call could be approved later. The
 * answer has the name of the call.
 */
function answerOf(
  response: FunctionResponse,
  { events, isInTime, isJob }: { events: readonly Event[]; isInTime: boolean; isJob: boolean },
  part: Part,
): Part {
  const { id, name = 'a function' } = response;
  const asking = logIndex(events).firstCallOf([id]);
  if (id === undefined || !asking || asking.author === 'user') {
    throw new MeshError(
      'failed_precondition',
      `no call ${id ?? 'without an id'} of ${name} was made in this session; answer with the id of the call`,
    );
  }
  if (!asking.longRunningToolIds?.includes(id)) {
    throw new MeshError(
      'failed_precondition',
      `call ${id} of ${name} does not wait for an answer from outside`,
    );
  }
  const call = getFunctionCalls(asking).find((each) => each.id === id);
  assertName(response, call?.name);
  if (hasResult(events, id)) {
    throw new MeshError(
      'failed_precondition',
      `call ${id} of ${name} was answered before; an answer counts once; mark progress before it with "willContinue": true`,
    );
  }
  if (isJob && response.willContinue) assertNews(response, id, events);
  assertNotCancelled(asking, { id, name }, events);
  if (!isInTime) assertInTime(asking, { id, name });
  return { ...part, functionResponse: { ...response, ...(call?.name !== undefined && { name: call.name }) } };
}

/**
 * Checks that the first response of a job is news for its agent. The caller may have received it in the call itself, or
 * have gone on with the same words: a record of the job that Redis has lost, or a late worker, must not wake it again.
 *
 * @throws MeshError `failed_precondition`
 */
function assertNews({ name, response }: FunctionResponse, id: string, events: readonly Event[]): void {
  const known = logIndex(events).responsesTo(id);
  if (!known.some((each) => isDeepStrictEqual(each.response.response, response))) return;
  throw new MeshError('failed_precondition', `the agent has this response to call ${id} of ${name} already`);
}

/** Tells whether a call has its outcome: a person's answer, or a response that its tool marks as final. */
function hasResult(events: readonly Event[], callId: string): boolean {
  return logIndex(events)
    .responsesTo(callId)
    .some(
      ({ event, response: { willContinue } }) =>
        willContinue === false || (event.author === 'user' && !willContinue),
    );
}

/** Replaces an answer by the statement that nobody answered. */
function expiredPart(part: Part, { id, name, event }: Question): Part {
  const kind = name === questionNames.confirmation ? 'confirmation' : 'input';
  const deadline = deadlineOfCall(event, id) ?? meshTime();
  return { ...part, functionResponse: { id, name, response: deadlinePassed({ kind, deadline }) } };
}

/**
 * Checks the deadline of an answer.
 *
 * @throws MeshError `failed_precondition` for an answer after the deadline
 */
function assertInTime(asking: Event, { id, name }: { id: string; name: string }): void {
  const deadline = deadlineOfCall(asking, id);
  if (deadline === undefined || deadline > meshTime()) return;
  throw new MeshError(
    'failed_precondition',
    `the time limit for the answer to ${name} ${id} was ${new Date(deadline).toISOString()}; let the agent ask again`,
  );
}

function openQuestion(
  question: Question | undefined,
  { id, name }: FunctionResponse,
  events: readonly Event[],
): Question {
  if (id === undefined)
    throw new MeshError('invalid_argument', `the response to ${name} has no id; give it the id of the call`);
  if (!question) {
    throw new MeshError(
      'failed_precondition',
      `no question has the id ${id} in this session; answer with the id of the call ${name}`,
    );
  }
  if (question.answer) {
    throw new MeshError(
      'failed_precondition',
      `${question.name} ${id} was answered before; an answer counts once`,
    );
  }
  assertNotCancelled(question.event, question, events);
  return question;
}

/**
 * Checks that the invocation of a call was not cancelled.
 *
 * @throws MeshError `failed_precondition`
 */
function assertNotCancelled(
  { invocationId }: Event,
  call: Pick<Question, 'id' | 'name'>,
  events: readonly Event[],
): void {
  if (logIndex(events).ofInvocation(invocationId).some(isCancelled)) throw askerCancelled(call);
}

function isCancelled(event: Event): boolean {
  return event.errorCode === 'cancelled' && isFailure(event);
}

/** Makes the error for an answer that would continue cancelled work. */
export function askerCancelled({ id, name }: Pick<Question, 'id' | 'name'>): MeshError {
  return new MeshError(
    'failed_precondition',
    `the run that asked ${name} ${id} was cancelled; send a new message instead`,
  );
}

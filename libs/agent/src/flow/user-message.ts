import { type Event, MeshError } from '@agentmesh/protocol';
import type { Content, FunctionResponse, Part } from '@google/genai';
import type { AuthConfig, AuthCredential } from '../auth/auth-config.ts';
import { credentialFrom } from '../auth/credential-answer.ts';
import { getFunctionCalls } from '../event.ts';
import type { Session } from '../session-service.ts';
import { isQuestionName, type Question, questionNames, questionsOf, readConfirmation } from './questions.ts';

/** What a user said, fit to be kept. */
export interface UserMessage {
  content: Content;
  /** Credentials that came with it, by the id of the question: they are never in the log. */
  credentials: Map<string, AuthCredential>;
}

/**
 * Reads a message before it is committed: answers must belong to questions that are open in this session, and say what was asked. Secrets
 * are taken out.
 *
 * @throws MeshError `invalid_argument` for a message without parts, for calls that only agents may make, and for answers that say neither yes
 * nor no; `failed_precondition` for an answer to what was not asked, or called, or is answered; `permission_denied` for another sign-in
 */
export function readMessage(message: Content, { events }: Pick<Session, 'events'>): UserMessage {
  const { parts = [] } = message;
  if (parts.length === 0) throw new MeshError('invalid_argument', 'the message has no parts; say something');
  // Answers are matched with what an agent asked: a question made up by a client could be answered by it too.
  const forged = parts.find(({ functionCall }) => functionCall)?.functionCall;
  if (forged) {
    throw new MeshError(
      'invalid_argument',
      `only agents call functions, such as ${forged.name}; send responses`,
    );
  }
  const questions = new Map(questionsOf(events).map((question) => [question.id, question]));
  const credentials = new Map<string, AuthCredential>();
  const read = parts.map((part): Part => {
    const { functionResponse: response } = part;
    const question = questions.get(response?.id ?? '');
    if (!response) return part;
    if (!question && !isQuestionName(response.name)) return answerOf(response, events, part);
    const answered = openQuestion(question, response);
    questions.set(answered.id, { ...answered, answer: response });
    if (answered.name === questionNames.confirmation)
      return { ...part, functionResponse: yesOrNo(answered, response) };
    if (answered.name !== questionNames.credential) return part;
    const asked = answered.args.authConfig as AuthConfig;
    credentials.set(answered.id, credentialFrom(asked, response.response));
    return {
      ...part,
      functionResponse: {
        ...response,
        name: answered.name,
        response: { credentialKey: asked.credentialKey, received: true },
      },
    };
  });
  return { content: { ...message, parts: read }, credentials };
}

/**
 * An answer to an ordinary call: somebody must have made it, and left it to others to answer. The result of any other call is what its tool
 * said, and nobody else. As clients send progress and result alike, it may come more than once. Its name is that of the call.
 */
function answerOf(response: FunctionResponse, events: readonly Event[], part: Part): Part {
  const { id, name = 'a function' } = response;
  const asking = events.find((event) => getFunctionCalls(event).some((call) => call.id === id));
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
  return { ...part, functionResponse: { ...response, ...(call?.name !== undefined && { name: call.name }) } };
}

function openQuestion(question: Question | undefined, { id, name }: FunctionResponse): Question {
  if (!question) {
    throw new MeshError(
      'failed_precondition',
      `nothing with id ${id} was asked in this session; answer with the id of the call ${name}`,
    );
  }
  if (!question.answer) return question;
  throw new MeshError('failed_precondition', `${name} ${id} was answered before; an answer counts once`);
}

function yesOrNo(question: Question, response: FunctionResponse): FunctionResponse {
  const said = readConfirmation(response.response);
  if (said) return { ...response, name: question.name, response: { ...said } };
  throw new MeshError(
    'invalid_argument',
    `the answer to ${question.name} ${question.id} needs "confirmed": true or false`,
  );
}

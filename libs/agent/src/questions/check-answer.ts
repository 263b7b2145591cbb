import { isDeepStrictEqual } from 'node:util';
import { MeshError, type ToolConfirmation } from '@agentmesh/protocol';
import type { FunctionResponse } from '@google/genai';
import { type Question, questionNames } from '../events/question.ts';
import { misfitOf } from '../schema/answer-schema.ts';
import { inputOf } from './input-answer.ts';
import { readConfirmation, unwrapAnswer } from './questions.ts';

type Asked = Pick<Question, 'id' | 'name' | 'args'>;

/**
 * Checks an answer to a question and gives it as it is kept: nothing is in it that was not asked for. A confirmation binds to the call that was
 * recorded, so one that names another call was given to something else than what would be done.
 *
 * @throws MeshError `failed_precondition` for an answer by another name, or about another call; `invalid_argument` for one that says neither
 * yes nor no, or does not fit the schema of the question
 */
export function checkAnswer(question: Asked, response: FunctionResponse): FunctionResponse {
  const { id, name } = question;
  assertName(response, name);
  if (response.willContinue) {
    throw new MeshError(
      'invalid_argument',
      `an answer to ${name} ${id} is given once: leave willContinue out`,
    );
  }
  if (name === questionNames.input) inputOf(question, response.response);
  if (name !== questionNames.confirmation) return { ...response, name };
  assertSameCall(question, response);
  const said = readConfirmation(response.response);
  if (!said)
    throw new MeshError('invalid_argument', `the answer to ${name} ${id} needs "confirmed": true or false`);
  if (isArgsEcho(question, said.payload)) delete said.payload;
  checkPayload(question, said);
  return { ...response, name, response: { ...said } };
}

/** An answer need not say what it answers; one that does must not mean something else. @throws MeshError `failed_precondition` */
export function assertName({ id, name }: FunctionResponse, asked: string | undefined): void {
  if (name === undefined || name === asked) return;
  throw new MeshError(
    'failed_precondition',
    `call ${id} is one of ${asked}, not of ${name}; answer with its name`,
  );
}

function assertSameCall({ id, name, args }: Asked, { response }: FunctionResponse): void {
  const given = response?.originalFunctionCall ?? unwrapAnswer(response)?.originalFunctionCall;
  if (given === undefined || given === null) return;
  const recorded = args.originalFunctionCall;
  const differs = (['id', 'name', 'args'] as const).filter((key) => {
    const value = fieldOf(given, key);
    return value !== undefined && !isDeepStrictEqual(value, fieldOf(recorded, key));
  });
  if (typeof given === 'object' && !Array.isArray(given) && differs.length === 0) return;
  throw new MeshError(
    'failed_precondition',
    `the answer to ${name} ${id} is about another call than the one that waits (${differs.join(', ') || 'originalFunctionCall'}); send the recorded one or leave it out`,
  );
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
}

/**
 * Does a payload only repeat the arguments of the call? ADK's web UI sends them with every answer, whatever was asked. What fits the schema of the
 * question may be meant.
 */
function isArgsEcho({ args }: Asked, payload: unknown): boolean {
  if (payload === undefined || !isDeepStrictEqual(payload, fieldOf(args.originalFunctionCall, 'args')))
    return false;
  const { payloadSchema } = (args.toolConfirmation ?? {}) as Partial<ToolConfirmation>;
  return !payloadSchema || misfitOf(payloadSchema, payload) !== undefined;
}

/** What is confirmed is the payload as the person left it: also one that was left as it was must fit. */
function checkPayload({ id, name, args }: Asked, said: { confirmed: boolean; payload?: unknown }): void {
  const { payload, payloadSchema } = (args.toolConfirmation ?? {}) as Partial<ToolConfirmation>;
  if (!payloadSchema || (!said.confirmed && said.payload === undefined)) return;
  const misfit = misfitOf(payloadSchema, said.payload ?? payload);
  if (misfit === undefined) return;
  throw new MeshError(
    'invalid_argument',
    `the payload of the answer to ${name} ${id} does not fit its payloadSchema: ${misfit}`,
  );
}

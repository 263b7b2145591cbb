import { isDeepStrictEqual } from 'node:util';
import { MeshError, type ToolConfirmation } from '@agentmesh/protocol';
import type { FunctionResponse } from '@google/genai';
import { type Question, questionNames } from '../events/question.ts';
import { misfitOf } from '../schema/answer-schema.ts';
import { inputOf } from './input-answer.ts';
import { readConfirmation, unwrapAnswer } from './questions.ts';

type Asked = Pick<Question, 'id' | 'name' | 'args'>;

/**
 * Checks an answer to a question and returns it in the form for the log, without fields that the question did
 * not ask for. A confirmation applies to the recorded call only: an answer that names another call is
 * refused.
 *
 * @throws MeshError `failed_precondition` for an answer with another name, or about another call;
 * `invalid_argument` for a confirmation that says neither yes nor no, or a value that does not fit the schema
 * of the question
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
  const confirmation = readConfirmation(response.response);
  if (!confirmation)
    throw new MeshError('invalid_argument', `the answer to ${name} ${id} needs "confirmed": true or false`);
  if (isArgsEcho(question, confirmation.payload)) delete confirmation.payload;
  checkPayload(question, confirmation);
  return { ...response, name, response: { ...confirmation } };
}

/**
 * Checks that a response has no name, or the name of its call.
 *
 * @throws MeshError `failed_precondition` for another name
 */
export function assertName({ id, name }: FunctionResponse, expected: string | undefined): void {
  if (name === undefined || name === expected) return;
  throw new MeshError(
    'failed_precondition',
    `call ${id} is one of ${expected}, not of ${name}; answer with its name`,
  );
}

function assertSameCall({ id, name, args }: Asked, { response }: FunctionResponse): void {
  const namedCall = response?.originalFunctionCall ?? unwrapAnswer(response)?.originalFunctionCall;
  if (namedCall === undefined || namedCall === null) return;
  const recorded = args.originalFunctionCall;
  const differs = (['id', 'name', 'args'] as const).filter((key) => {
    const value = fieldOf(namedCall, key);
    return value !== undefined && !isDeepStrictEqual(value, fieldOf(recorded, key));
  });
  if (typeof namedCall === 'object' && !Array.isArray(namedCall) && differs.length === 0) return;
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
 * Tells whether a payload only repeats the arguments of the call. ADK's web UI sends them with every answer,
 * whatever was asked. A payload that fits the schema of the question may be intended.
 */
function isArgsEcho({ args }: Asked, payload: unknown): boolean {
  if (payload === undefined || !isDeepStrictEqual(payload, fieldOf(args.originalFunctionCall, 'args')))
    return false;
  const { payloadSchema } = (args.toolConfirmation ?? {}) as Partial<ToolConfirmation>;
  return !payloadSchema || misfitOf(payloadSchema, payload) !== undefined;
}

/**
 * Checks the confirmed payload against the schema. A payload that the person left unchanged must fit, too.
 */
function checkPayload(
  { id, name, args }: Asked,
  confirmation: { confirmed: boolean; payload?: unknown },
): void {
  const { payload, payloadSchema } = (args.toolConfirmation ?? {}) as Partial<ToolConfirmation>;
  if (!payloadSchema || (!confirmation.confirmed && confirmation.payload === undefined)) return;
  const misfit = misfitOf(payloadSchema, confirmation.payload ?? payload);
  if (misfit === undefined) return;
  throw new MeshError(
    'invalid_argument',
    `the payload of the answer to ${name} ${id} does not fit its payloadSchema: ${misfit}`,
  );
}

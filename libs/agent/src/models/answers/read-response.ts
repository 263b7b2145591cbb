import { partSchema } from '@agentmesh/protocol';
import type { FunctionCall, Part } from '@google/genai';
import type { LlmResponse } from '../../base/base-llm.ts';
import { copyJson } from '../../events/copy-json.ts';
import { wellFormed } from '../../events/well-formed.ts';
import { isRecord } from '../http/error-body.ts';
import { checkArgs } from './call-arguments.ts';

type Fields = Record<string, unknown>;
/** Reads a field; undefined for a value that says nothing. */
type Read = (value: unknown) => unknown;

const text: Read = (value) => (typeof value === 'string' && value !== '' ? value : undefined);
// Programs that read JSON have null for none, and some have a number.
const word: Read = (value) => (value ? String(value) : undefined);
const flag: Read = (value) => (typeof value === 'boolean' ? value : undefined);
const record: Read = (value) => (isRecord(value) ? value : undefined);

/** The fields of a response that a model may set. */
const responseFields: Record<keyof LlmResponse, Read> = {
  content: (content) =>
    isRecord(content) ? { role: 'model', parts: recordsIn(content.parts).map(readPart) } : undefined,
  partial: flag,
  turnComplete: flag,
  interrupted: flag,
  errorCode: word,
  errorMessage: text,
  finishReason: word,
  modelVersion: text,
  usageMetadata: record,
  groundingMetadata: record,
  citationMetadata: record,
  customMetadata: (data) => (isRecord(data) ? pick(data, (key) => !key.startsWith('mesh:')) : undefined),
};

/** The fields of a part that a model may set, beside its call. Only tools respond to calls. */
const { functionResponse: _ofTools, functionCall: _call, ...partFields } = partSchema.shape;

/**
 * Copies what a model may say out of its response. All else is left out: a field of the framework would steer the agent,
 * and a field of a wrong type would break each later prompt.
 */
export function readResponse(response: unknown): LlmResponse {
  const given: Fields = isRecord(response) ? response : {};
  const fields = Object.entries(responseFields).map(([key, read]) => [key, read(given[key])]);
  return wellFormed(copyJson(pick(Object.fromEntries(fields), (_key, value) => value !== undefined)));
}

/** Returns the objects in a list. Some servers send null in its place, or among them. */
export function recordsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function readPart(part: Fields): Part {
  const isFit = (key: string, value: unknown) =>
    Object.hasOwn(partFields, key) && partFields[key as keyof typeof partFields].safeParse(value).success;
  return {
    ...pick(part, isFit),
    ...(part.functionCall ? { functionCall: readCall(part.functionCall) } : {}),
  };
}

/** Reads a call. A call without a name gets an empty one; a call that is half keeps `willContinue`. */
function readCall(call: unknown): FunctionCall {
  const { id, name, args, willContinue, partialArgs }: Fields = isRecord(call) ? call : {};
  return {
    ...(typeof id === 'string' && { id }),
    name: typeof name === 'string' ? name : '',
    ...(args !== undefined && { args: checkArgs(args) }),
    ...((willContinue || recordsIn(partialArgs).length > 0) && { willContinue: true }),
  };
}

function pick(from: Fields, isPicked: (key: string, value: unknown) => boolean): Fields {
  return Object.fromEntries(Object.entries(from).filter(([key, value]) => isPicked(key, value)));
}

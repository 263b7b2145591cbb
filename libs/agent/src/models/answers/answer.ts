import type { Part } from '@google/genai';
import type { BaseLlm, LlmRequest, LlmResponse } from '../../base/base-llm.ts';
import type { Emit } from '../../events/emit.ts';
import { saysSomething, withoutBareParts } from '../../events/part-data.ts';
import { wellFormed } from '../../events/well-formed.ts';
import { FinishReason } from '../../schema/genai.ts';
import { checkArgs, problemOfArgs } from './call-arguments.ts';

/** Finish reasons of a whole answer. After any other reason the answer is half, or none. */
const wholeReasons: readonly string[] = [FinishReason.STOP, FinishReason.FINISH_REASON_UNSPECIFIED];

/**
 * Asks a model, and checks what it answers: emits the pieces, and returns one answer or error with a code. A model
 * that ends without a complete response has answered nothing. Several complete responses are one answer: each of
 * them may hold words and calls, and one event is committed or lost as a whole.
 */
export async function readAnswer(
  llm: BaseLlm,
  request: LlmRequest,
  { stream, signal }: { stream: boolean; signal: AbortSignal | undefined },
  emit: Emit<LlmResponse>,
): Promise<LlmResponse> {
  let whole: LlmResponse | undefined;
  for await (const response of llm.generateContentAsync(request, stream, signal)) {
    if (response?.partial) await emit(response);
    else whole = whole ? join(whole, response) : response;
  }
  return asAnswer(whole);
}

/** Joins two complete responses of one answer. What only one response can say (the usage, for example), the later one says. */
function join(earlier: LlmResponse, later: LlmResponse | undefined): LlmResponse {
  const { finishReason } = earlier;
  const given = Object.entries(later ?? {}).filter(([, value]) => value !== undefined);
  const parts = partsOf(earlier);
  const calls = new Set(parts.flatMap(callKey));
  const more = partsOf(later).filter((part) => !callKey(part).some((key) => calls.has(key)));
  return {
    ...earlier,
    ...Object.fromEntries(given),
    content: { ...earlier.content, ...later?.content, parts: [...parts, ...more] },
    ...(!isWholeReason(finishReason) && { finishReason }),
  };
}

function partsOf(response: LlmResponse | undefined): Part[] {
  const parts = response?.content?.parts;
  return Array.isArray(parts) ? parts : [];
}

/** Returns the key by which a call is known that a model repeats: a summary of its answer may hold it again. */
function callKey(part: Part | undefined): string[] {
  const call = part?.functionCall;
  return call?.id === undefined ? [] : [JSON.stringify([call.id, call.name, call.args])];
}

function isWholeReason(reason: LlmResponse['finishReason']): boolean {
  return reason === undefined || wholeReasons.includes(reason);
}

/**
 * Returns a complete response as an answer, or as an error without content: `EMPTY_RESPONSE` when it says nothing
 * (thoughts alone say nothing), the finish reason when the model did not come to its end. A text that ends at
 * the limit of tokens is an answer; calls that end there are not, because the last of them may be half.
 *
 * @param words the model's own explanation
 */
export function asAnswer(response: LlmResponse | undefined, words?: string): LlmResponse {
  if (response?.partial) return response;
  const { content, ...rest } = wellFormed(response ?? {});
  if (rest.errorCode !== undefined) return { ...rest, errorMessage: rest.errorMessage ?? rest.errorCode };
  const parts = cleanParts(partsOf(response && { content }));
  const calls = parts.filter(({ functionCall }) => functionCall);
  const isNameless = calls.some(({ functionCall }) => !functionCall?.name);
  const says = parts.some(saysSomething);
  const { finishReason: reason } = rest;
  const isWhole = isWholeReason(reason);
  const isCut = reason === FinishReason.MAX_TOKENS && calls.length === 0;
  if (says && !isNameless && (isWhole || isCut))
    return { ...rest, content: { role: 'model', ...content, parts: [...parts] } };
  if (isNameless && isWhole)
    return failed(rest, 'MALFORMED_FUNCTION_CALL', 'the model called a function without a name');
  if (isWhole) return failed(rest, 'EMPTY_RESPONSE', words ?? emptyWords(parts));
  const where = says ? 'within its answer' : 'without an answer';
  return failed(rest, String(reason), words ?? `the model stopped ${where}: ${reason}`);
}

function cleanParts(parts: readonly Part[]): readonly Part[] {
  const known = parts.filter((part) => typeof part === 'object' && part !== null);
  return withoutBareParts(known).map((part) => {
    const { functionCall: call } = part;
    if (!call?.args || problemOfArgs(call.args)) return part;
    const args = checkArgs(call.args);
    return args === call.args ? part : { ...part, functionCall: { ...call, args } };
  });
}

function emptyWords(parts: readonly Part[]): string {
  return parts.some(({ thought }) => thought)
    ? 'the model sent thoughts and no answer'
    : 'the model sent no answer';
}

function failed(rest: LlmResponse, errorCode: string, errorMessage: string): LlmResponse {
  return { ...rest, errorCode, errorMessage: errorMessage.toWellFormed() };
}

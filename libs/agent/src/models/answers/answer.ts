import type { Part } from '@google/genai';
import type { BaseLlm, LlmRequest, LlmResponse } from '../../base/base-llm.ts';
import { saysSomething, withoutBareParts } from '../../events/part-data.ts';
import { wellFormed } from '../../events/well-formed.ts';
import { FinishReason } from '../../schema/genai.ts';
import { checkArgs, problemOfArgs } from './call-arguments.ts';

/** Finish reasons of a whole answer. After any other reason the answer is half, or none. */
const wholeReasons: readonly string[] = [FinishReason.STOP, FinishReason.FINISH_REASON_UNSPECIFIED];

/**
 * Asks a model, and checks what it answers: each complete response is an answer or an error with a code. A model
 * that ends without a complete response has answered nothing.
 */
export async function* answersOf(
  llm: BaseLlm,
  request: LlmRequest,
  stream: boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<LlmResponse, void, void> {
  let isComplete = false;
  for await (const response of llm.generateContentAsync(request, stream, signal)) {
    isComplete ||= !response?.partial;
    yield asAnswer(response);
  }
  if (!isComplete) yield asAnswer({});
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
  const parts = cleanParts(Array.isArray(content?.parts) ? content.parts : []);
  const calls = parts.filter(({ functionCall }) => functionCall);
  const isNameless = calls.some(({ functionCall }) => !functionCall?.name);
  const says = parts.some(saysSomething);
  const { finishReason: reason } = rest;
  const isWhole = reason === undefined || wholeReasons.includes(reason);
  const isCut = reason === FinishReason.MAX_TOKENS && calls.length === 0;
  if (says && !isNameless && (isWhole || isCut))
    return { ...rest, content: { role: 'model', ...content, parts: [...parts] } };
  if (isNameless && isWhole)
    return failed(rest, 'MALFORMED_FUNCTION_CALL', 'the model called a function without a name');
  if (isWhole) return failed(rest, 'EMPTY_RESPONSE', words ?? emptyWords(parts));
  const where = says ? 'within its answer' : 'without an answer';
  return failed(rest, reason, words ?? `the model stopped ${where}: ${reason}`);
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

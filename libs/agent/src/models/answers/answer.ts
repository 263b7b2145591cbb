import { digestOf } from '@agentmesh/protocol';
import type { FunctionCall, Part } from '@google/genai';
import type { BaseLlm, LlmRequest, LlmResponse } from '../../base/base-llm.ts';
import type { Emit } from '../../events/emit.ts';
import { saysSomething, withoutBareParts } from '../../events/part-data.ts';
import { FinishReason } from '../../schema/genai.ts';
import { readResponse } from './read-response.ts';

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
    const said = readResponse(response);
    if (said.partial) await emit(said);
    else whole = whole ? join(whole, said) : said;
  }
  return asAnswer(whole);
}

/** Joins two complete responses of one answer. What only one response can say (the usage, for example), the later one says. */
function join(earlier: LlmResponse, later: LlmResponse): LlmResponse {
  const finishReason = worstReason(earlier.finishReason, later.finishReason);
  return {
    ...earlier,
    ...later,
    content: { role: 'model', parts: [...partsOf(earlier), ...partsOf(later)] },
    ...(finishReason && { finishReason }),
  };
}

function partsOf({ content }: LlmResponse): Part[] {
  return content?.parts ?? [];
}

type Reason = LlmResponse['finishReason'];

/**
 * Returns the finish reason that counts when an answer has two: a failure whatever comes behind it, or else the limit of
 * tokens. Undefined for an answer that may go on.
 */
export function worstReason(earlier: Reason, later: Reason): Reason {
  return rankOf(later) > rankOf(earlier) ? later : earlier;
}

function rankOf(reason: Reason): number {
  if (reason === undefined || reason === FinishReason.FINISH_REASON_UNSPECIFIED) return 0;
  return reason === FinishReason.STOP ? 1 : reason === FinishReason.MAX_TOKENS ? 2 : 3;
}

/**
 * Returns a complete response as an answer, or as an error without content: `EMPTY_RESPONSE` when it says nothing
 * (thoughts alone say nothing), the finish reason when the model did not come to its end. A text that ends at
 * the limit of tokens is an answer; calls that end there are not, because the last of them may be half.
 *
 * @param words the model's own explanation
 */
export function asAnswer(response: LlmResponse | undefined, words?: string): LlmResponse {
  const { content, ...rest } = readResponse(response);
  if (rest.partial) return { ...rest, ...(content && { content }) };
  if (rest.errorCode !== undefined) return { ...rest, errorMessage: rest.errorMessage ?? rest.errorCode };
  const parts = withoutRepeats(withoutBareParts(content?.parts ?? []));
  const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
  const says = parts.some(saysSomething);
  const { finishReason: reason } = rest;
  const isWhole = rankOf(reason) < rankOf(FinishReason.MAX_TOKENS);
  const isCut = reason === FinishReason.MAX_TOKENS && calls.length === 0;
  const problem = problemOf(calls);
  if (says && problem === undefined && (isWhole || isCut))
    return { ...rest, content: { role: 'model', parts } };
  if (isWhole && problem !== undefined) return failed(rest, 'MALFORMED_FUNCTION_CALL', problem);
  if (isWhole) return failed(rest, 'EMPTY_RESPONSE', words ?? emptyWords(parts));
  const where = says ? 'within its answer' : 'without an answer';
  return failed(rest, String(reason), words ?? `the model stopped ${where}: ${reason}`);
}

/** Returns why calls cannot be made, if they cannot. */
function problemOf(calls: readonly FunctionCall[]): string | undefined {
  if (calls.some(({ willContinue }) => willContinue))
    return 'the model ended its answer within the arguments of a call';
  return calls.every(({ name }) => name) ? undefined : 'the model called a function without a name';
}

/** Leaves out each call that repeats an earlier one: a summary of an answer may hold its calls again. */
function withoutRepeats(parts: readonly Part[]): Part[] {
  const known = new Set<string>();
  return parts.filter(({ functionCall: call }) => {
    if (call?.id === undefined) return true;
    const key = digestOf([call.id, call.name, call.args]);
    return !known.has(key) && known.add(key);
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

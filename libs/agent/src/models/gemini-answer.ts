import { MeshError } from '@agentmesh/protocol';
import type { Content, GenerateContentResponse } from '@google/genai';
import type { LlmResponse } from '../base/base-llm.ts';
import { FinishReason } from '../schema/genai.ts';
import { asAnswer } from './answers/answer.ts';
import { StreamedParts, TextPieces } from './answers/streamed-parts.ts';

/** A response of the server, and its explanation of the finish reason. */
interface Answer {
  response: LlmResponse;
  words: string | undefined;
}

/** Reads a whole answer. */
export function toAnswer(answer: GenerateContentResponse): LlmResponse {
  const { response, words } = readAnswer(answer);
  return asAnswer(response, words);
}

function readAnswer(response: GenerateContentResponse): Answer {
  const { candidates, promptFeedback, usageMetadata, modelVersion } = response;
  const [candidate] = listOf(candidates);
  const common: LlmResponse = {
    ...(usageMetadata && { usageMetadata }),
    ...(modelVersion !== undefined && { modelVersion }),
  };
  if (promptFeedback?.blockReason) {
    const { blockReason, blockReasonMessage } = promptFeedback;
    const errorMessage = blockReasonMessage ?? `the model refused the conversation: ${blockReason}`;
    return { response: { ...common, errorCode: blockReason, errorMessage }, words: undefined };
  }
  if (!candidate) return { response: common, words: undefined };
  const { finishReason: reason, groundingMetadata, citationMetadata } = candidate;
  // Some proxies name a reason in each piece.
  const finishReason = reason === FinishReason.FINISH_REASON_UNSPECIFIED ? undefined : reason || undefined;
  const { finishMessage, ...content }: ExplainedContent = candidate.content ?? {};
  const whole = {
    ...common,
    ...(finishReason !== undefined && { finishReason }),
    ...(groundingMetadata && { groundingMetadata }),
    ...(citationMetadata && { citationMetadata }),
    content: { ...content, role: 'model' },
  };
  return { response: whole, words: finishMessage };
}

interface ExplainedContent extends Content {
  finishMessage?: string;
}

/**
 * Moves the model's explanation of its finish reason into the content: the client drops it, and passes contents on as
 * they are.
 */
export function keepFinishMessage({ candidates }: Record<string, unknown>): void {
  if (!Array.isArray(candidates)) return;
  for (const candidate of listOf<Record<string, unknown>>(candidates)) {
    const { content, finishMessage } = candidate;
    if (typeof finishMessage === 'string')
      candidate.content = { ...(content as Content | undefined), finishMessage };
  }
}

/** Yields the pieces of text as they arrive, and then the whole answer: one event to commit. */
export async function* assemble(
  chunks: AsyncIterable<GenerateContentResponse>,
  model: string,
): AsyncGenerator<LlmResponse, void, void> {
  const whole = new StreamedParts();
  const pieces = new TextPieces();
  let last: Answer = { response: {}, words: undefined };
  try {
    for await (const chunk of chunks) {
      const { response, words } = readAnswer(chunk);
      last = { response: joined(last.response, response), words: words ?? last.words };
      const news = listOf(response.content?.parts);
      for (const part of news) whole.add(part);
      const text = pieces.next(news.filter((part) => part.text));
      if (text.length > 0) yield { ...response, content: { role: 'model', parts: text }, partial: true };
    }
  } catch (error) {
    // A failure after the end of the answer cannot make it half.
    if (last.response.finishReason === undefined) throw error;
  }
  const { finishReason, errorCode } = last.response;
  if (whole.parts.length > 0 && finishReason === undefined && errorCode === undefined)
    throw new MeshError('unavailable', `model ${model} has ended its answer in the middle`);
  const response = { ...last.response, content: { role: 'model', parts: whole.parts } };
  yield whole.hasHalfCall ? asAnswer({ ...response, ...halfCall }) : asAnswer(response, last.words);
}

/** Joins a chunk with those before it. The first reason of a failure counts, whatever comes behind it. */
function joined(before: LlmResponse, chunk: LlmResponse): LlmResponse {
  const { finishReason } = before;
  const isFailure = finishReason !== undefined && finishReason !== FinishReason.STOP;
  return { ...before, ...chunk, ...(isFailure && { finishReason }) };
}

const halfCall = {
  errorCode: 'MALFORMED_FUNCTION_CALL',
  errorMessage: 'the model ended its answer within the arguments of a call',
};

/** Some servers send null, or a single value, in the place of a list. */
function listOf<T>(value: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];
}

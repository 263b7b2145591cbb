import { MeshError } from '@agentmesh/protocol';
import type { Candidate, Content, GenerateContentResponse, Part } from '@google/genai';
import type { LlmResponse } from '../base/base-llm.ts';
import { hasData } from '../events/part-data.ts';
import { FinishReason } from '../schema/genai.ts';
import { asAnswer, worstReason } from './answers/answer.ts';
import { AnswerEnd } from './answers/answer-end.ts';
import { recordsIn } from './answers/read-response.ts';
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
  const [candidate] = recordsIn(candidates) as Candidate[];
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
  for (const candidate of recordsIn(candidates)) {
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
  const end = new AnswerEnd();
  let last: Answer = { response: {}, words: undefined };
  try {
    for await (const chunk of chunks) {
      const { response, words } = readAnswer(chunk);
      last = { response: joined(last.response, response), words: words ?? last.words };
      const news: Part[] = recordsIn(response.content?.parts);
      end.note(response.finishReason !== undefined, news.some(hasData));
      for (const part of news) whole.add(part);
      const text = pieces.next(news.filter((part) => part.text && typeof part.text === 'string'));
      if (text.length > 0) yield { ...response, content: { role: 'model', parts: text }, partial: true };
    }
  } catch (error) {
    if (!end.isProven) throw error;
  }
  if (whole.parts.length > 0 && !end.hasCome && last.response.errorCode === undefined)
    throw new MeshError('unavailable', `model ${model} has ended its answer in the middle`);
  yield asAnswer({ ...last.response, content: { role: 'model', parts: whole.parts } }, last.words);
}

function joined(before: LlmResponse, chunk: LlmResponse): LlmResponse {
  const finishReason = worstReason(before.finishReason, chunk.finishReason);
  return { ...before, ...chunk, ...(finishReason && { finishReason }) };
}

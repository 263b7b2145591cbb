import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import type { Content, FunctionDeclaration, GenerateContentConfig, Part } from '@google/genai';
import OpenAI, { type ClientOptions } from 'openai';
import { assertStream, BaseLlm, type LlmRequest, type LlmResponse, readContents } from '../base/base-llm.ts';
import { FinishReason } from '../schema/genai.ts';
import { fromConnection } from './no-connection.ts';
import { toJsonSchema, toMessages, toTools } from './openai-messages.ts';

export interface OpenAiOptions {
  model: string;
  /** Default: `OPENAI_API_KEY` of the environment. */
  apiKey?: string;
  /**
   * Another server with the same interface (vLLM, Ollama, LiteLLM, …); default `OPENAI_BASE_URL`, else
   * OpenAI's.
   */
  baseUrl?: string;
  /** Other options of the client: retries, timeout, headers, … */
  client?: ClientOptions;
}

const optionNames: OptionNames<OpenAiOptions> = { model: true, apiKey: true, baseUrl: true, client: true };

type Chunk = OpenAI.ChatCompletionChunk;
type Completion = OpenAI.ChatCompletion;

/** A model with the chat completions interface. It uses the client `openai`, which you install. */
export class OpenAiLlm extends BaseLlm {
  readonly #options: OpenAiOptions;
  #client: OpenAI | undefined;

  /** @throws MeshError `invalid_argument` for an unknown option, or without a model name */
  constructor(options: OpenAiOptions) {
    assertOptions('an OpenAiLlm', options ?? null, optionNames, { isOpen: new.target !== OpenAiLlm });
    super({ model: options.model });
    this.#options = options;
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    assertStream(stream);
    const { chat, baseURL: url } = this.#connect();
    const body = toBody(request);
    const options = signal ? { signal } : {};
    try {
      if (stream) {
        const usage = { stream_options: { include_usage: true } } as const;
        yield* assemble(await chat.completions.create({ ...body, ...usage, stream: true }, options));
      } else yield toResponse(await chat.completions.create({ ...body, stream: false }, options));
    } catch (error) {
      signal?.throwIfAborted();
      throw fromConnection(error, { model: request.model, url });
    }
  }

  override keyProblems(): string[] {
    const { apiKey = process.env.OPENAI_API_KEY, client } = this.#options;
    if (this.#client || apiKey || client) return [];
    return [`no key for model ${this.model}: set OPENAI_API_KEY`];
  }

  /** Also for other servers with the same interface. */
  override providerName(): string {
    return 'openai';
  }

  #connect(): OpenAI {
    const { apiKey = process.env.OPENAI_API_KEY, baseUrl, client } = this.#options;
    const [problem] = this.keyProblems();
    if (problem !== undefined) throw new MeshError('failed_precondition', problem);
    this.#client ??= new OpenAI({
      ...client,
      ...(apiKey !== undefined && { apiKey }),
      ...(baseUrl !== undefined && { baseURL: baseUrl }),
    });
    return this.#client;
  }
}

function toBody(request: LlmRequest): OpenAI.ChatCompletionCreateParams {
  const { model, config } = request;
  const declarations = (config.tools ?? []).flatMap((tool) => {
    if ('functionDeclarations' in tool) return (tool.functionDeclarations ?? []) as FunctionDeclaration[];
    // A silent omission would make the model invent what it should look up or run.
    throw new MeshError(
      'invalid_argument',
      `the interface of model ${model} does not support ${Object.keys(tool).join(', ')}; use a Gemini model`,
    );
  });
  return {
    model,
    messages: toMessages(readContents(request), systemText(config)),
    ...(declarations.length > 0 && { tools: toTools(declarations) }),
    ...(config.temperature !== undefined && { temperature: config.temperature }),
    ...(config.topP !== undefined && { top_p: config.topP }),
    ...(config.maxOutputTokens !== undefined && { max_completion_tokens: config.maxOutputTokens }),
    ...(config.stopSequences && { stop: config.stopSequences }),
    ...(config.seed !== undefined && { seed: config.seed }),
    ...(config.presencePenalty !== undefined && { presence_penalty: config.presencePenalty }),
    ...(config.frequencyPenalty !== undefined && { frequency_penalty: config.frequencyPenalty }),
    ...responseFormat(config),
  };
}

function systemText({ systemInstruction }: GenerateContentConfig): string | undefined {
  return typeof systemInstruction === 'string' ? systemInstruction : undefined;
}

function responseFormat({ responseSchema, responseMimeType }: GenerateContentConfig) {
  if (responseSchema) {
    const schema = toJsonSchema(responseSchema as Parameters<typeof toJsonSchema>[0]);
    return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } } as const;
  }
  return responseMimeType === 'application/json'
    ? ({ response_format: { type: 'json_object' } } as const)
    : {};
}

function toResponse({ choices, usage, model }: Completion): LlmResponse {
  const [choice] = choices;
  if (!choice)
    return { errorCode: 'EMPTY_RESPONSE', errorMessage: 'the model sent no answer', modelVersion: model };
  const { message, finish_reason: reason } = choice;
  const parts: Part[] = message.content ? [{ text: message.content }] : [];
  for (const call of message.tool_calls ?? []) {
    if (call.type === 'function') parts.push(callPart(call.id, call.function.name, call.function.arguments));
  }
  return whole(parts, reason, usage, model);
}

/**
 * Yields the pieces of text as they arrive; then the calls, whose arguments arrive in pieces too, with the
 * whole text.
 */
async function* assemble(chunks: AsyncIterable<Chunk>): AsyncGenerator<LlmResponse, void, void> {
  const calls: { id: string; name: string; args: string }[] = [];
  let text = '';
  let reason: string | null = null;
  let usage: Chunk['usage'];
  let model = '';
  for await (const chunk of chunks) {
    model = chunk.model;
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices;
    reason = choice?.finish_reason ?? reason;
    for (const { index, id, function: part } of choice?.delta.tool_calls ?? []) {
      calls[index] ??= { id: '', name: '', args: '' };
      const call = calls[index];
      call.id ||= id ?? '';
      call.name ||= part?.name ?? '';
      call.args += part?.arguments ?? '';
    }
    const piece = choice?.delta.content;
    if (!piece) continue;
    text += piece;
    yield { content: { role: 'model', parts: [{ text: piece }] }, partial: true, modelVersion: model };
  }
  const parts: Part[] = text ? [{ text }] : [];
  parts.push(...calls.filter(Boolean).map(({ id, name, args }) => callPart(id, name, args)));
  yield whole(parts, reason, usage, model);
}

function callPart(id: string, name: string, json: string): Part {
  return { functionCall: { ...(id && { id }), name, args: readArgs(json) } };
}

/**
 * Reads the arguments of a call. Text that is not JSON goes to the tool's own check, whose error the model
 * then reads.
 */
function readArgs(json: string): Record<string, unknown> {
  try {
    const args: unknown = JSON.parse(json || '{}');
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return { ...args };
  } catch {}
  return { malformed_arguments: json };
}

const reasons: Record<string, FinishReason> = {
  stop: FinishReason.STOP,
  tool_calls: FinishReason.STOP,
  function_call: FinishReason.STOP,
  length: FinishReason.MAX_TOKENS,
  content_filter: FinishReason.SAFETY,
};

function whole(
  parts: Part[],
  reason: string | null,
  usage: Completion['usage'] | Chunk['usage'],
  model: string,
): LlmResponse {
  const content: Content = { role: 'model', parts };
  const finishReason = reasons[reason ?? ''] ?? FinishReason.OTHER;
  const refused = parts.length === 0 && finishReason !== FinishReason.STOP;
  return {
    modelVersion: model,
    finishReason,
    ...(usage && {
      usageMetadata: {
        promptTokenCount: usage.prompt_tokens,
        candidatesTokenCount: usage.completion_tokens,
        totalTokenCount: usage.total_tokens,
      },
    }),
    ...(refused
      ? { errorCode: finishReason, errorMessage: `the model stopped without an answer: ${reason}` }
      : { content }),
  };
}

import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import OpenAI, { type ClientOptions } from 'openai';
import { assertStream, BaseLlm, type LlmRequest, type LlmResponse } from '../base/base-llm.ts';
import { TextPieces } from './answers/streamed-parts.ts';
import { ChatAnswer } from './chat/chat-answer.ts';
import { toBody } from './chat/chat-request.ts';
import { modelFetch } from './http/model-fetch.ts';
import { fromConnection } from './http/no-connection.ts';
import { type RetryOptions, retrySettings, withRetries } from './http/retry.ts';

export interface OpenAiOptions {
  model: string;
  /** Default: `OPENAI_API_KEY` of the environment. */
  apiKey?: string;
  /**
   * Another server with the same interface (vLLM, Ollama, LiteLLM, …); default `OPENAI_BASE_URL`, else
   * OpenAI's.
   */
  baseUrl?: string;
  /** As for `Gemini`; default `client.maxRetries`. */
  retryOptions?: RetryOptions;
  /** Other options of the client: timeout, headers, … */
  client?: ClientOptions;
}

const optionNames: OptionNames<OpenAiOptions> = {
  model: true,
  apiKey: true,
  baseUrl: true,
  retryOptions: true,
  client: true,
};

/** A model with the chat completions interface. It uses the client `openai`, which you install. */
export class OpenAiLlm extends BaseLlm {
  readonly #options: OpenAiOptions;
  #client: OpenAI | undefined;

  /** @throws MeshError `invalid_argument` for an unknown option, for retries without a number, or without a model name */
  constructor(options: OpenAiOptions) {
    assertOptions('an OpenAiLlm', options ?? null, optionNames, { isOpen: new.target !== OpenAiLlm });
    super({ model: options.model });
    this.#options = options;
    retrySettings(this.#retryOptions);
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    assertStream(stream);
    const { chat, baseURL: url } = this.#connect();
    const body = toBody(request);
    const options = { maxRetries: 0, ...(signal && { signal }) };
    const ask = <T>(make: () => Promise<T>) => withRetries(make, this.#retryOptions, signal);
    try {
      if (stream) {
        const usage = { stream_options: { include_usage: true } } as const;
        const chunks = await ask(() =>
          chat.completions.create({ ...body, ...usage, stream: true }, options).then((each) => each),
        );
        yield* assemble(chunks, signal);
      } else {
        const completion: unknown = await ask(() =>
          chat.completions.create({ ...body, stream: false }, options).then((each) => each),
        );
        const answer = new ChatAnswer();
        answer.add(completion);
        yield answer.response();
      }
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
      fetch: modelFetch(client?.fetch as typeof fetch | undefined),
    });
    return this.#client;
  }

  // Retries happen here only: retries of the client would multiply the attempts.
  get #retryOptions(): RetryOptions {
    const { retryOptions, client } = this.#options;
    return retryOptions ?? (client?.maxRetries === undefined ? {} : { attempts: client.maxRetries + 1 });
  }
}

/** Yields the pieces of text and of thoughts as they arrive; then the whole answer with the calls. */
async function* assemble(
  chunks: AsyncIterable<unknown>,
  signal: AbortSignal | undefined,
): AsyncGenerator<LlmResponse, void, void> {
  const answer = new ChatAnswer();
  const pieces = { text: new TextPieces(), thought: new TextPieces() };
  try {
    for await (const chunk of chunks) {
      const { text, thought } = answer.add(chunk);
      const parts = [
        ...pieces.thought.next(thought === '' ? [] : [{ text: thought, thought: true }]),
        ...pieces.text.next(text === '' ? [] : [{ text }]),
      ];
      if (parts.length > 0) yield { content: { role: 'model', parts }, partial: true, ...answer.version };
    }
  } catch (error) {
    if (!answer.end.isProven || signal?.aborted) throw error;
  }
  if (!answer.end.hasCome && !answer.isEmpty)
    throw new MeshError('unavailable', 'the model has ended its answer in the middle');
  yield answer.response();
}

import { assertOptions, failSpan, MeshError, type OptionNames, startSpan } from '@agentmesh/protocol';
import type { GoogleGenAI, GoogleGenAIOptions } from '@google/genai';
import type { Embedder } from '../memory/embedder.ts';
import { isApiError, loadGenAi } from '../schema/genai.ts';
import { geminiKeyOf } from './gemini-key.ts';
import { geminiUrlOf } from './gemini-url.ts';
import { modelFetch } from './http/model-fetch.ts';
import { fromConnection } from './http/no-connection.ts';
import { type RetryOptions, retrySettings, withRetries } from './http/retry.ts';

export interface GeminiEmbedderOptions {
  /** Default `gemini-embedding-001`. */
  model?: string;
  /** Dimensions of a vector; default 256. More of them find slightly better and need more memory and time. */
  dimensions?: number;
  /** Default: `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment. */
  apiKey?: string;
  /** A server with Gemini's REST interface; default `GOOGLE_GEMINI_BASE_URL`, else Google's. */
  baseUrl?: string;
  /** As for `Gemini`. */
  retryOptions?: RetryOptions;
  /** Other options of the client: Vertex AI, headers, … */
  client?: GoogleGenAIOptions;
}

const optionNames: OptionNames<GeminiEmbedderOptions> = {
  model: true,
  dimensions: true,
  apiKey: true,
  baseUrl: true,
  retryOptions: true,
  client: true,
};

/** Maximum number of texts in one request. */
const batchSize = 100;
/** Length of a text that is processed, in characters: the model reads about 2,000 tokens. */
const maxCharacters = 8_000;

/** An embedder that uses Gemini, with `@google/genai`. */
export class GeminiEmbedder implements Embedder {
  readonly name: string;
  readonly #options: Required<Pick<GeminiEmbedderOptions, 'model' | 'dimensions'>> & GeminiEmbedderOptions;
  #client: Promise<GoogleGenAI> | undefined;

  /** @throws MeshError `invalid_argument` for an unknown option */
  constructor(options: GeminiEmbedderOptions = {}) {
    assertOptions('a GeminiEmbedder', options, optionNames, { isOpen: new.target !== GeminiEmbedder });
    const { model = 'gemini-embedding-001', dimensions = 256 } = options;
    this.#options = { ...options, model, dimensions };
    this.name = `${model}/${dimensions}`;
    retrySettings(options.retryOptions);
  }

  async embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const { model, dimensions, client } = this.#options;
    // Memory services know nothing of the work that uses them: the span is below the active one.
    const span = startSpan(`embeddings ${model}`, {}, () => ({
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.provider.name': client?.vertexai ? 'gcp.vertex_ai' : 'gcp.gemini',
        'gen_ai.request.model': model,
        'gen_ai.embeddings.dimension.count': dimensions,
      },
    }));
    try {
      return await this.#embed(texts, purpose, signal);
    } catch (thrown) {
      failSpan(span, thrown);
      throw thrown;
    } finally {
      span?.end();
    }
  }

  async #embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const { model, dimensions } = this.#options;
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += batchSize) {
      const batch = texts
        .slice(at, at + batchSize)
        .map((text) => text.slice(0, maxCharacters).toWellFormed());
      const { models } = await this.#connect();
      const ask = () =>
        models.embedContent({
          model,
          contents: batch,
          config: {
            outputDimensionality: dimensions,
            taskType: purpose === 'query' ? 'RETRIEVAL_QUERY' : 'RETRIEVAL_DOCUMENT',
            ...(signal && { abortSignal: signal }),
          },
        });
      const { embeddings = [] } = await withRetries(ask, this.#options.retryOptions, signal).catch(
        (error: unknown) => {
          signal?.throwIfAborted();
          throw refusalOf(fromConnection(error, { model, url: geminiUrlOf(this.#options) }));
        },
      );
      vectors.push(...batch.map((_, n) => unitVector(embeddings[n]?.values, dimensions)));
    }
    return vectors;
  }

  // Makes the client at the first request, so that a service can start without a key.
  async #connect(): Promise<GoogleGenAI> {
    const { apiKey, baseUrl, client, model } = this.#options;
    const key = apiKey ?? geminiKeyOf();
    if (!this.#client && !key && !client)
      throw new MeshError(
        'failed_precondition',
        `no key for model ${model}: set GEMINI_API_KEY or GOOGLE_API_KEY`,
      );
    const { retryOptions: _retries, ...httpOptions } = client?.httpOptions ?? {};
    this.#client ??= loadGenAi().then(
      ({ GoogleGenAI }) =>
        new GoogleGenAI({
          ...(key !== undefined && { apiKey: key }),
          ...client,
          httpOptions: {
            ...httpOptions,
            ...(baseUrl !== undefined && { baseUrl }),
            fetch: modelFetch(httpOptions.fetch as typeof fetch | undefined),
          },
        }),
    );
    return await this.#client;
  }
}

function refusalOf(error: unknown): unknown {
  if (!isApiError(error) || error.status !== 400) return error;
  return new MeshError('invalid_argument', `the model refuses the texts: ${error.message}`, { cause: error });
}

/** Returns the vector with length 1. Gemini's shortened vectors have another length. */
function unitVector(values: number[] | undefined, dimensions: number): Float32Array {
  const length = Math.hypot(...(values ?? []));
  if (values?.length !== dimensions || !(length > 0))
    throw new MeshError(
      'internal',
      `the model returned no vector of ${dimensions} numbers; use another model, or set dimensions to its size`,
    );
  return Float32Array.from(values, (value) => value / length);
}

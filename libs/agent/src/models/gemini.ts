import { MeshError } from '@agentmesh/protocol';
import {
  ApiError,
  type Content,
  type GenerateContentParameters,
  type GenerateContentResponse,
  GoogleGenAI,
  type GoogleGenAIOptions,
  type Part,
} from '@google/genai';
import { BaseLlm, type GenerateOptions, type LlmRequest, type LlmResponse } from './llm.ts';

export interface GeminiOptions {
  /** Default `gemini-2.5-flash`. */
  model?: string;
  /** Default: `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment. */
  apiKey?: string;
  /** Another server that speaks Gemini's REST; default `GOOGLE_GEMINI_BASE_URL`, else Google's. */
  baseUrl?: string;
  /** Anything else of the client: Vertex AI, retries, headers, … */
  client?: GoogleGenAIOptions;
}

/** Gemini by `@google/genai`. */
export class Gemini extends BaseLlm {
  readonly #options: GeminiOptions;
  #client: GoogleGenAI | undefined;

  constructor(options: GeminiOptions = {}) {
    super({ model: options.model ?? 'gemini-2.5-flash' });
    this.#options = options;
  }

  override async *generateContentAsync(
    request: LlmRequest,
    { stream = false, signal }: GenerateOptions = {},
  ): AsyncGenerator<LlmResponse, void, void> {
    const { models } = this.#connect();
    const parameters: GenerateContentParameters = {
      model: request.model,
      contents: withLastWordOfUser(request.contents),
      config: { ...request.config, ...(signal && { abortSignal: signal }) },
    };
    try {
      if (stream) yield* assemble(await models.generateContentStream(parameters));
      else yield toResponse(await models.generateContent(parameters));
    } catch (error) {
      throw describe(error, signal);
    }
  }

  // Made at the first request: an agent can be defined where there is no key.
  #connect(): GoogleGenAI {
    const { apiKey, baseUrl, client } = this.#options;
    const key = apiKey ?? process.env.GEMINI_API_KEY ?? process.env.GOOGLE_API_KEY;
    if (!this.#client && !key && !client) {
      throw new MeshError('failed_precondition', `no key for model ${this.model}: set GEMINI_API_KEY`);
    }
    this.#client ??= new GoogleGenAI({
      ...(key !== undefined && { apiKey: key }),
      ...client,
      ...(baseUrl !== undefined && { httpOptions: { ...client?.httpOptions, baseUrl } }),
    });
    return this.#client;
  }
}

/** Gemini answers what a user says last. An agent that is run again after its own words, in a loop say, is told to go on. */
function withLastWordOfUser(contents: readonly Content[]): Content[] {
  if (contents.at(-1)?.role === 'user') return [...contents];
  const text = contents.length > 0 ? goOnText : 'Do what the system instruction says.';
  return [...contents, { role: 'user', parts: [{ text }] }];
}

const goOnText = 'Go on with what you were asked to do. If nothing is left to do, say so in a sentence.';

function toResponse(response: GenerateContentResponse): LlmResponse {
  const { candidates, promptFeedback, usageMetadata, modelVersion } = response;
  const candidate = candidates?.[0];
  const common: LlmResponse = {
    ...(usageMetadata && { usageMetadata }),
    ...(modelVersion !== undefined && { modelVersion }),
  };
  if (!candidate) {
    return {
      ...common,
      errorCode: promptFeedback?.blockReason ?? 'EMPTY_RESPONSE',
      errorMessage: promptFeedback?.blockReasonMessage ?? 'the model sent no answer',
    };
  }
  const { content, finishReason, finishMessage, groundingMetadata, citationMetadata } = candidate;
  const answered = (content?.parts?.length ?? 0) > 0 || finishReason === undefined || finishReason === 'STOP';
  return {
    ...common,
    ...(finishReason !== undefined && { finishReason }),
    ...(groundingMetadata && { groundingMetadata }),
    ...(citationMetadata && { citationMetadata }),
    ...(answered
      ? { content: { role: 'model', ...content } }
      : {
          errorCode: finishReason,
          errorMessage: finishMessage ?? `the model stopped without an answer: ${finishReason}`,
        }),
  };
}

/** Passes text on piece by piece as it comes, and ends with the whole answer: one event to keep. */
async function* assemble(
  chunks: AsyncIterable<GenerateContentResponse>,
): AsyncGenerator<LlmResponse, void, void> {
  const parts: Part[] = [];
  let last: LlmResponse = {};
  for await (const chunk of chunks) {
    const response = toResponse(chunk);
    last = { ...last, ...response };
    const news = response.content?.parts ?? [];
    for (const part of news) addPart(parts, part);
    const text = news.filter((part) => part.text);
    if (text.length > 0) yield { ...response, content: { role: 'model', parts: text }, partial: true };
  }
  if (parts.length === 0) yield last;
  else {
    const { errorCode: _code, errorMessage: _message, ...whole } = last;
    const content: Content = { role: 'model', parts };
    yield { ...whole, content };
  }
}

/** Text goes to the text before it when both are thoughts, or both are not; all other parts stand alone. */
function addPart(parts: Part[], part: Part): void {
  const before = parts.at(-1);
  const joins =
    isPlainText(part) &&
    before !== undefined &&
    isPlainText(before) &&
    Boolean(part.thought) === Boolean(before.thought);
  if (!joins) {
    if (part.text !== '' || part.thoughtSignature) parts.push({ ...part });
    return;
  }
  before.text = `${before.text ?? ''}${part.text ?? ''}`;
  if (part.thoughtSignature) before.thoughtSignature = part.thoughtSignature;
}

function isPlainText(part: Part): boolean {
  return Object.keys(part).every((key) => key === 'text' || key === 'thought' || key === 'thoughtSignature');
}

function describe(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted || error instanceof ApiError) return error;
  if (error instanceof Error && error.name === 'AbortError') {
    return new MeshError('deadline_exceeded', 'the model did not answer in time', { cause: error });
  }
  return error;
}

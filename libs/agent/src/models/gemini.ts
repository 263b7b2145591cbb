import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import type {
  Content,
  FunctionDeclaration,
  GenerateContentConfig,
  GenerateContentParameters,
  GoogleGenAI,
  GoogleGenAIOptions,
} from '@google/genai';
import { withReadableFiles } from '../artifacts/readable-files.ts';
import { assertStream, BaseLlm, type LlmRequest, type LlmResponse, readContents } from '../base/base-llm.ts';
import { loadGenAi, Type } from '../schema/genai.ts';
import { withoutReasoningFields } from './chat/reasoning.ts';
import { assemble, keepFinishMessage, toAnswer } from './gemini-answer.ts';
import { isReadByGemini } from './gemini-files.ts';
import { geminiKeyOf } from './gemini-key.ts';
import { geminiUrlOf } from './gemini-url.ts';
import { modelFetch } from './http/model-fetch.ts';
import { fromConnection } from './http/no-connection.ts';
import { type RetryOptions, retrySettings, withRetries } from './http/retry.ts';

export interface GeminiOptions {
  /** Default `gemini-2.5-flash`. */
  model?: string;
  /** Default: `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment. */
  apiKey?: string;
  /** A server with Gemini's REST interface; default `GOOGLE_GEMINI_BASE_URL`, else Google's. */
  baseUrl?: string;
  /**
   * Retries: for which failures, how often, and after which delays (in seconds). Absent options have these
   * defaults: three attempts in all, for statuses 408, 429, 500, 502, 503, 504 and broken connections, with
   * delays of 0.5 to 1 s and 1 to 2 s, or as long as the server asks for, up to `maxRetryAfter` (60 s). A used-up
   * quota of the day is final. A stream that has begun is never retried, and an aborted run does not
   * wait. `{ attempts: 1 }` turns retries off.
   */
  retryOptions?: RetryOptions;
  /** Uses Vertex AI, in this project and location, with the credentials of the machine. */
  vertexai?: boolean;
  project?: string;
  location?: string;
  /** Headers of each request. */
  headers?: Record<string, string>;
  /** Other options of the client. */
  client?: GoogleGenAIOptions;
}

const optionNames: OptionNames<GeminiOptions> = {
  model: true,
  apiKey: true,
  baseUrl: true,
  retryOptions: true,
  vertexai: true,
  project: true,
  location: true,
  headers: true,
  client: true,
};
const unsupported = {
  useInteractionsApi: 'leave it out: requests hold the whole conversation',
};

/** The model Gemini, with `@google/genai`. */
export class Gemini extends BaseLlm {
  static override readonly supportedModels: readonly (string | RegExp)[] = [
    /(?:models\/)?(?:gemini|learnlm|gemma)-.+/,
    /projects\/.+\/(?:models|endpoints)\/.+/,
  ];
  readonly #options: GeminiOptions;
  #client: Promise<GoogleGenAI> | undefined;

  /** @throws MeshError `invalid_argument` for an unknown option, and for retries without a number */
  constructor(options: GeminiOptions = {}) {
    assertOptions('a Gemini', options, optionNames, { unsupported, isOpen: new.target !== Gemini });
    super({ model: options.model ?? 'gemini-2.5-flash' });
    this.#options = options;
    retrySettings(this.#retryOptions);
    // Loads while the process starts; a failure comes with the first request.
    loadGenAi().catch(() => {});
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    assertStream(stream);
    const { models } = await this.#connect();
    const parameters: GenerateContentParameters = {
      model: request.model,
      contents: withLastWordOfUser(
        withReadableFiles(withoutReasoningFields(readContents(request)), isReadByGemini),
      ),
      config: { ...withoutEmptyParameters(request.config), ...(signal && { abortSignal: signal }) },
    };
    const ask = <T>(make: () => Promise<T>) => withRetries(make, this.#retryOptions, signal);
    try {
      if (stream) {
        yield* assemble(await ask(() => models.generateContentStream(parameters)), request.model);
      } else {
        yield toAnswer(await ask(() => models.generateContent(parameters)));
      }
    } catch (error) {
      throw describe(
        fromConnection(error, { model: request.model, url: geminiUrlOf(this.#options) }),
        signal,
      );
    }
  }

  override keyProblems(): string[] {
    const { client, vertexai } = this.#options;
    if (this.#client || this.#key || client || vertexai) return [];
    return [`no key for model ${this.model}: set GEMINI_API_KEY or GOOGLE_API_KEY`];
  }

  override providerName(): string {
    const { client, vertexai = client?.vertexai } = this.#options;
    return vertexai ? 'gcp.vertex_ai' : 'gcp.gemini';
  }

  get #key(): string | undefined {
    const { apiKey, client, vertexai = client?.vertexai } = this.#options;
    return apiKey ?? (vertexai ? undefined : geminiKeyOf());
  }

  // Makes the client at the first request, so that an agent can be defined without a key.
  async #connect(): Promise<GoogleGenAI> {
    const { baseUrl, client, headers, project, location } = this.#options;
    const { vertexai = client?.vertexai } = this.#options;
    const key = this.#key;
    const [problem] = this.keyProblems();
    if (problem !== undefined) throw new MeshError('failed_precondition', problem);
    // Retries happen here only: retries of the client would multiply the attempts.
    const { retryOptions: _retries, ...httpOptions } = client?.httpOptions ?? {};
    const options = {
      ...(key !== undefined && { apiKey: key }),
      ...client,
      ...(vertexai !== undefined && { vertexai }),
      ...(project !== undefined && { project }),
      ...(location !== undefined && { location }),
      httpOptions: {
        ...httpOptions,
        ...(baseUrl !== undefined && { baseUrl }),
        ...(headers && { headers: { ...httpOptions.headers, ...headers } }),
        fetch: modelFetch(httpOptions.fetch as typeof fetch | undefined, keepFinishMessage),
      },
    };
    this.#client ??= loadGenAi().then(({ GoogleGenAI }) => new GoogleGenAI(options));
    return await this.#client;
  }

  get #retryOptions(): RetryOptions | undefined {
    return this.#options.retryOptions ?? this.#options.client?.httpOptions?.retryOptions;
  }
}

/** Leaves out parameters without a key, which Gemini refuses. */
function withoutEmptyParameters(config: GenerateContentConfig): GenerateContentConfig {
  const isEmpty = ({ parameters }: FunctionDeclaration) =>
    parameters?.type === Type.OBJECT && Object.keys(parameters.properties ?? {}).length === 0;
  const tools = config.tools?.map((tool) => {
    if (!('functionDeclarations' in tool) || !tool.functionDeclarations?.some(isEmpty)) return tool;
    const declarations = tool.functionDeclarations.map((each) => {
      const { parameters: _none, ...others } = each;
      return isEmpty(each) ? others : each;
    });
    return { ...tool, functionDeclarations: declarations };
  });
  return tools ? { ...config, tools } : config;
}

/**
 * Makes sure that the last message is the user's, because Gemini answers the last message. An agent that runs
 * again after its own text, for example in a loop, is told to continue.
 */
function withLastWordOfUser(contents: readonly Content[]): Content[] {
  if (contents.at(-1)?.role === 'user') return [...contents];
  const text = contents.length > 0 ? goOnText : 'Do what the system instruction says.';
  return [...contents, { role: 'user', parts: [{ text }] }];
}

const goOnText = 'Go on with what you were asked to do. If nothing is left to do, say so in a sentence.';

function describe(error: unknown, signal: AbortSignal | undefined): unknown {
  // The client does not tell the reason of the abort.
  if (signal?.aborted) return signal.reason;
  if (error instanceof Error && error.name === 'AbortError') {
    return new MeshError('deadline_exceeded', 'the model did not answer in time', { cause: error });
  }
  return error;
}

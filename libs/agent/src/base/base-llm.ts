import { type Event, MeshError } from '@agentmesh/protocol';
import type { Content, GenerateContentConfig } from '@google/genai';
import { copyJson } from '../events/copy-json.ts';
import type { BaseTool } from './base-tool.ts';

/** One request to a model. */
export interface LlmRequest {
  model: string;
  contents: Content[];
  /** All other settings of the request: system instruction, tools, temperature, … */
  config: GenerateContentConfig;
  /** The tools that the model may call in its answer to this request, by name. */
  toolsDict: Record<string, BaseTool>;
}

/** One answer of a model, or a piece of it when `partial` is set. */
export type LlmResponse = Pick<
  Event,
  | 'content'
  | 'partial'
  | 'errorCode'
  | 'errorMessage'
  | 'finishReason'
  | 'usageMetadata'
  | 'groundingMetadata'
  | 'citationMetadata'
  | 'modelVersion'
  | 'customMetadata'
  | 'turnComplete'
  | 'interrupted'
>;

/** A connection for live conversations, which are not supported; see {@link BaseLlm.connect}. */
export type BaseLlmConnection = never;

/** The base class of models. */
export abstract class BaseLlm {
  /** Model names that a subclass serves, for `LLMRegistry.register`. */
  static readonly supportedModels: readonly (string | RegExp)[] = [];
  readonly model: string;

  /** @throws MeshError `invalid_argument` without a name */
  constructor({ model }: { model: string }) {
    if (typeof model !== 'string' || model === '')
      throw new MeshError('invalid_argument', 'a model needs a name: the option model');
    this.model = model;
  }

  /**
   * Lists the reasons why this process cannot call the model, one sentence each, with the variables to set.
   * Returns an empty list by default; models that need a key override it.
   */
  keyProblems(): string[] {
    return [];
  }

  /**
   * Returns the name of the provider for spans, by OpenTelemetry's conventions: `openai`, `gcp.gemini`, …; default
   * `_OTHER`.
   */
  providerName(): string {
    return '_OTHER';
  }

  /**
   * Yields the answer. The last response is complete, the responses before it are partial.
   *
   * @param stream requests the answer in pieces
   * @throws when the model cannot be reached
   */
  abstract generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void>;

  /**
   * Exists because subclasses written for ADK define it. Nothing calls it: live conversations are not
   * supported.
   *
   * @throws MeshError `failed_precondition` always
   */
  async connect(_request: LlmRequest): Promise<BaseLlmConnection> {
    throw new MeshError(
      'failed_precondition',
      `model ${this.model}: live conversations are not supported; use generateContentAsync`,
    );
  }
}

/**
 * Checks the second argument of `generateContentAsync`.
 *
 * @throws MeshError `invalid_argument` for anything but a boolean
 */
export function assertStream(stream: unknown): void {
  if (typeof stream === 'boolean') return;
  throw new MeshError(
    'invalid_argument',
    'generateContentAsync takes (request, stream, abortSignal): stream must be true or false',
  );
}

/** Appends paragraphs to the system instruction of a request, without empty paragraphs. */
export function appendInstructions(request: LlmRequest, instructions: readonly string[]): void {
  const { systemInstruction } = request.config;
  const existing = typeof systemInstruction === 'string' ? [systemInstruction] : [];
  const text = [...existing, ...instructions].filter((each) => each !== '').join('\n\n');
  if (text !== '') request.config.systemInstruction = text;
}

/** By request: its contents, as long as no code has touched them. */
const lent = new WeakMap<LlmRequest, readonly Content[]>();

/**
 * Gives contents to a request that belong to a log. Callbacks, tools and models may change the contents of a request,
 * and the log must not change: the first touch of `request.contents` makes copies.
 */
export function lendContents(
  request: Omit<LlmRequest, 'contents'>,
  contents: readonly Content[],
): LlmRequest {
  const own = (value: readonly Content[]) => {
    lent.delete(whole);
    Object.defineProperty(request, 'contents', {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  };
  const whole: LlmRequest = Object.defineProperty(request as LlmRequest, 'contents', {
    get() {
      own(contents.map(copyJson));
      return whole.contents;
    },
    set: own,
    enumerable: true,
    configurable: true,
  });
  lent.set(whole, contents);
  return whole;
}

/**
 * Returns the contents of a request to a model that only reads them. This costs nothing; `request.contents` copies a long
 * conversation when it is first read, so that its reader may change it.
 */
export function readContents(request: LlmRequest): readonly Content[] {
  return lent.get(request) ?? request.contents;
}

import { type Event, MeshError } from '@agentmesh/protocol';
import type { Content, GenerateContentConfig } from '@google/genai';
import type { BaseTool } from './base-tool.ts';

/** One request to a model. */
export interface LlmRequest {
  model: string;
  contents: Content[];
  /** Everything else of the request: system instruction, tools, temperature, … */
  config: GenerateContentConfig;
  /** The tools that may be called in answer to this request, by name. */
  toolsDict: Record<string, BaseTool>;
}

/** One answer, or with `partial` a piece of it. */
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

/** A connection for live conversations, which agentmesh does not have; see {@link BaseLlm.connect}. */
export type BaseLlmConnection = never;

/** A model. */
export abstract class BaseLlm {
  /** Names that a subclass serves, for `LLMRegistry.register`. */
  static readonly supportedModels: readonly (string | RegExp)[] = [];
  readonly model: string;

  /** @throws MeshError `invalid_argument` without a name */
  constructor({ model }: { model: string }) {
    if (typeof model !== 'string' || model === '')
      throw new MeshError('invalid_argument', 'a model needs a name: the option model');
    this.model = model;
  }

  /**
   * Lists what keeps the model from being asked in this process, a sentence each that names the variables to set. Empty here;
   * models with a key override it.
   */
  keyProblems(): string[] {
    return [];
  }

  /**
   * Yields the answer; the last response is whole, those before it are partial. Throws when the model cannot be reached.
   *
   * @param stream asks for the answer in pieces
   */
  abstract generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void>;

  /**
   * ADK's way into a live conversation. Nothing calls it here; ADK's subclasses must define it.
   *
   * @throws MeshError `failed_precondition` always
   */
  async connect(_request: LlmRequest): Promise<BaseLlmConnection> {
    throw new MeshError(
      'failed_precondition',
      `model ${this.model}: there are no live conversations; use generateContentAsync`,
    );
  }
}

/** Checks the second argument of `generateContentAsync`. @throws MeshError `invalid_argument` for anything but a boolean */
export function assertStream(stream: unknown): void {
  if (typeof stream === 'boolean') return;
  throw new MeshError(
    'invalid_argument',
    'generateContentAsync takes (request, stream, abortSignal): stream must be true or false',
  );
}

/** Adds paragraphs to the system instruction of a request; empty ones are left out. */
export function appendInstructions(request: LlmRequest, instructions: readonly string[]): void {
  const { systemInstruction } = request.config;
  const before = typeof systemInstruction === 'string' ? [systemInstruction] : [];
  const text = [...before, ...instructions].filter((each) => each !== '').join('\n\n');
  if (text !== '') request.config.systemInstruction = text;
}

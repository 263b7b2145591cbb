import type { Event } from '@agentmesh/protocol';
import type { Content, GenerateContentConfig } from '@google/genai';
import type { BaseTool } from '../base-tool.ts';

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
>;

export interface GenerateOptions {
  /** Ask for the answer in pieces: partial responses first, the whole one last. */
  stream?: boolean;
  signal?: AbortSignal | undefined;
}

/** A model. */
export abstract class BaseLlm {
  readonly model: string;

  constructor({ model }: { model: string }) {
    this.model = model;
  }

  /** Yields the answer; the last response is whole, those before it are partial. Throws when the model cannot be had. */
  abstract generateContentAsync(
    request: LlmRequest,
    options?: GenerateOptions,
  ): AsyncGenerator<LlmResponse, void, void>;
}

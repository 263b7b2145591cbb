import type { Tool } from '@google/genai';
import { BaseTool, type ToolProcessLlmRequest } from '../base/base-tool.ts';

/** A tool that the model's own service runs: it is named in requests and never called here. */
abstract class GoogleTool extends BaseTool {
  readonly #entry: Tool;

  constructor(name: string, description: string, entry: Tool) {
    super({ name, description });
    this.#entry = entry;
  }

  override async runAsync(): Promise<unknown> {
    return { error: `${this.name} is run by the model's service, not called` };
  }

  override async processLlmRequest({ llmRequest: { config } }: ToolProcessLlmRequest): Promise<void> {
    config.tools = [...(config.tools ?? []), this.#entry];
  }
}

/** Lets Gemini search the web. */
export class GoogleSearchTool extends GoogleTool {
  constructor() {
    super('google_search', 'Searches the web.', { googleSearch: {} });
  }
}

/** Lets Gemini read the pages whose addresses are in the conversation. */
export class UrlContextTool extends GoogleTool {
  constructor() {
    super('url_context', 'Reads web pages.', { urlContext: {} });
  }
}

/** Lets Gemini query Google Maps. */
export class GoogleMapsGroundingTool extends GoogleTool {
  constructor() {
    super('google_maps', 'Looks places up.', { googleMaps: {} });
  }
}

/** Lets Gemini search the web with Google's service for enterprises; only on Vertex AI. */
export class EnterpriseWebSearchTool extends GoogleTool {
  constructor() {
    super('enterprise_web_search', 'Searches the web.', { enterpriseWebSearch: {} });
  }
}

/** Shared instances: they have no state. */
export const GOOGLE_SEARCH = new GoogleSearchTool();
export const URL_CONTEXT = new UrlContextTool();
export const GOOGLE_MAPS_GROUNDING = new GoogleMapsGroundingTool();
export const ENTERPRISE_WEB_SEARCH = new EnterpriseWebSearchTool();

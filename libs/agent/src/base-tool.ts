import { assertName } from '@agentmesh/protocol';
import type { FunctionDeclaration } from '@google/genai';
import type { Context } from './context.ts';

export interface BaseToolConfig {
  name: string;
  description: string;
  /** The call stays open until somebody answers it; what the tool returns first is only the state of things. */
  isLongRunning?: boolean;
}

export interface RunToolRequest {
  args: Record<string, unknown>;
  toolContext: Context;
}

/** Something a model may call. */
export abstract class BaseTool {
  readonly name: string;
  readonly #description: string;
  readonly #isLongRunning: boolean;

  /** @throws MeshError `invalid_argument` for a name that function declarations cannot hold. */
  constructor({ name, description, isLongRunning = false }: BaseToolConfig) {
    this.name = assertName('tool', name);
    this.#description = description;
    this.#isLongRunning = isLongRunning;
  }

  get description(): string {
    return this.#description;
  }

  get isLongRunning(): boolean {
    return this.#isLongRunning;
  }

  /** What the model is told of the tool; undefined for a tool that the model's own service runs. */
  abstract getDeclaration(): FunctionDeclaration | undefined;

  /** Does the work. What it returns or throws goes back to the model. */
  abstract runAsync(request: RunToolRequest): Promise<unknown>;
}

/** A group of tools that is asked anew at every step, so that it may depend on the state. */
export abstract class BaseToolset {
  /** Names that may pass, or a test; all pass when it is absent or empty. */
  readonly toolFilter: readonly string[] | ((tool: BaseTool) => boolean);

  constructor(toolFilter: readonly string[] | ((tool: BaseTool) => boolean) = []) {
    this.toolFilter = toolFilter;
  }

  abstract getTools(): Promise<BaseTool[]>;
  /** Releases what the toolset holds; called when the service stops. */
  async close(): Promise<void> {}

  /** The tools that pass the filter. */
  async selectedTools(): Promise<BaseTool[]> {
    const tools = await this.getTools();
    const { toolFilter } = this;
    if (typeof toolFilter === 'function') return tools.filter(toolFilter);
    return toolFilter.length === 0 ? tools : tools.filter(({ name }) => toolFilter.includes(name));
  }
}

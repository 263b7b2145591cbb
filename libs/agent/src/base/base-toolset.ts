import { MeshError } from '@agentmesh/protocol';
import type { FunctionDeclaration } from '@google/genai';
import type { LlmRequest } from './base-llm.ts';
import { BaseTool, type RunToolRequest } from './base-tool.ts';
import type { Context, ReadonlyContext } from './context.ts';

export type ToolPredicate = (tool: BaseTool, context: ReadonlyContext) => boolean;

/** A group of tools. It is asked for its tools at every step, so the tools may depend on the state. */
export abstract class BaseToolset {
  /** Names of the selected tools, or a predicate; all tools are selected when it is empty. */
  readonly toolFilter: readonly string[] | ToolPredicate;
  /** Prefix of the tools' names, joined with `_`. */
  readonly prefix: string | undefined;

  /**
   * @throws MeshError `invalid_argument` for a filter that is neither a list nor a function, or a prefix that
   * is not a string
   */
  constructor(toolFilter: readonly string[] | ToolPredicate = [], prefix?: string) {
    if (typeof toolFilter !== 'function' && !Array.isArray(toolFilter)) {
      throw new MeshError(
        'invalid_argument',
        'a toolset takes (toolFilter, prefix): a list of names or a function first',
      );
    }
    if (prefix !== undefined && typeof prefix !== 'string')
      throw new MeshError('invalid_argument', 'the prefix of a toolset must be a string');
    this.toolFilter = toolFilter;
    this.prefix = prefix;
  }

  /**
   * Tells whether a tool is left out when the agent has another tool of the same name. This is true for
   * toolsets whose tools come and go by themselves.
   */
  get givesWay(): boolean {
    return false;
  }

  abstract getTools(context?: ReadonlyContext): Promise<BaseTool[]>;

  /** Releases the resources of the toolset. Called when the runner or the service stops, not after a run. */
  async close(): Promise<void> {}

  /** May change a request before the tools themselves do. */
  async processLlmRequest(_toolContext: Context, _llmRequest: LlmRequest): Promise<void> {}

  /** Returns the tools that pass the filter, under the names that the model sees. */
  async selectedTools(context: ReadonlyContext): Promise<BaseTool[]> {
    const tools = await this.getTools(context);
    const start = this.prefix ? `${this.prefix}_` : '';
    return tools
      .filter((tool) => this.isToolSelected(tool, context))
      .map((tool) => (tool.name.startsWith(start) ? tool : new PrefixedTool(`${start}${tool.name}`, tool)));
  }

  protected isToolSelected(tool: BaseTool, context: ReadonlyContext): boolean {
    const { toolFilter } = this;
    if (typeof toolFilter === 'function') return toolFilter(tool, context);
    return toolFilter.length === 0 || toolFilter.includes(tool.name);
  }
}

/** A tool under another name. */
class PrefixedTool extends BaseTool {
  readonly #tool: BaseTool;

  constructor(name: string, tool: BaseTool) {
    super({ name, description: tool.description });
    this.#tool = tool;
  }

  override get description(): string {
    return this.#tool.description;
  }

  override get isLongRunning(): boolean {
    return this.#tool.isLongRunning;
  }

  override get isIdempotent(): boolean {
    return this.#tool.isIdempotent;
  }

  override checkRequireConfirmation(args: unknown, toolContext: Context): Promise<boolean> {
    return this.#tool.checkRequireConfirmation(args, toolContext);
  }

  override _getDeclaration(): FunctionDeclaration | undefined {
    const declaration = this.#tool.getDeclaration();
    return declaration && { ...declaration, name: this.name };
  }

  override runAsync(request: RunToolRequest): Promise<unknown> {
    return this.#tool.runAsync(request);
  }
}

/**
 * Returns the tools of a list, with the selected tools of its toolsets. Of two tools with one name, that of a toolset
 * that gives way is left out.
 */
export async function toolsOf(
  list: readonly (BaseTool | BaseToolset)[],
  context: ReadonlyContext,
): Promise<BaseTool[]> {
  const plain = list.filter((each): each is BaseTool => !(each instanceof BaseToolset));
  if (plain.length === list.length) return plain;
  const groups = await Promise.all(
    list.map(async (each) => ({
      tools: each instanceof BaseToolset ? await each.selectedTools(context) : [each],
      givesWay: each instanceof BaseToolset && each.givesWay,
    })),
  );
  const fixed = groups.filter(({ givesWay }) => !givesWay).flatMap(({ tools }) => tools);
  const names = new Set(fixed.map(({ name }) => name));
  return groups.flatMap(({ tools, givesWay }) => {
    const selected = givesWay ? tools.filter(({ name }) => !names.has(name)) : tools;
    for (const { name } of selected) names.add(name);
    return selected;
  });
}

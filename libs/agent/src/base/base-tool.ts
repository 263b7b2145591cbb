import { assertName, MeshError } from '@agentmesh/protocol';
import type { FunctionDeclaration, Tool } from '@google/genai';
import type { LlmRequest } from './base-llm.ts';
import type { Context } from './context.ts';

export interface BaseToolConfig {
  name: string;
  description: string;
  /** The call stays open until somebody answers it; what the tool returns first is only the state of things. */
  isLongRunning?: boolean;
  /** How long an answer from outside is waited for, in ms; default for ever. */
  answerWithinMs?: number;
}

/** ADK's name of {@link BaseToolConfig}. */
export type BaseToolParams = BaseToolConfig;

export interface RunToolRequest {
  args: Record<string, unknown>;
  toolContext: Context;
}

/** ADK's name of {@link RunToolRequest}. */
export type RunAsyncToolRequest = RunToolRequest;

export interface ToolProcessLlmRequest {
  toolContext: Context;
  llmRequest: LlmRequest;
}

/** Something a model may call. */
export abstract class BaseTool {
  readonly name: string;
  readonly #description: string;
  readonly #isLongRunning: boolean;
  readonly #answerWithinMs: number | undefined;

  /** @throws MeshError `invalid_argument` for a name that function declarations cannot hold, or a time that is none. */
  constructor({ name, description, isLongRunning = false, answerWithinMs }: BaseToolConfig) {
    this.name = assertName('tool', name);
    this.#description = description;
    this.#isLongRunning = isLongRunning;
    if (answerWithinMs !== undefined && !(Number.isSafeInteger(answerWithinMs) && answerWithinMs > 0)) {
      throw new MeshError('invalid_argument', `tool ${name}: answerWithinMs must be whole ms above 0`);
    }
    this.#answerWithinMs = answerWithinMs;
  }

  get description(): string {
    return this.#description;
  }

  get isLongRunning(): boolean {
    return this.#isLongRunning;
  }

  /**
   * How long an answer from outside is waited for, in ms: the result of a long-running call, a person's confirmation. Then the call ends without it;
   * in one process without a mesh, where nobody looks, a late answer is refused.
   * Undefined: for ever.
   */
  get answerWithinMs(): number | undefined {
    return this.#answerWithinMs;
  }

  /**
   * Does a repeated call with the same function-call id get the first one's result? A long-running call that was cut off by a crash is
   * only then made again.
   */
  get isIdempotent(): boolean {
    return false;
  }

  /** Is the work done in another process? That one fetches the credentials that the work needs. */
  get isRemote(): boolean {
    return false;
  }

  /** Must a person confirm a call with these arguments before the work is done? */
  async checkRequireConfirmation(_args: unknown, _toolContext: Context): Promise<boolean> {
    return false;
  }

  /** What the model is told of the tool; undefined for a tool that the model's own service runs. ADK's name, for tools to override. */
  _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  /** What the model is told of the tool. */
  getDeclaration(): FunctionDeclaration | undefined {
    return this._getDeclaration();
  }

  /** Does the work. What it returns or throws goes back to the model. */
  abstract runAsync(request: RunToolRequest): Promise<unknown>;

  /**
   * Adds the tool to a request. Override it to add something else: an instruction, content, a tool of the model's own service.
   *
   * @throws MeshError `invalid_argument` when the request has a tool of this name
   */
  async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const declaration = this.getDeclaration();
    if (declaration) declare(llmRequest, this, { ...declaration, name: this.name });
  }
}

function declare(request: LlmRequest, tool: BaseTool, declaration: FunctionDeclaration): void {
  const { toolsDict } = request;
  if (Object.hasOwn(toolsDict, tool.name) && toolsDict[tool.name] !== tool) {
    throw new MeshError('invalid_argument', `the request has two tools called ${tool.name}; rename one`);
  }
  toolsDict[tool.name] = tool;
  // All declarations stand in one entry: models refuse several.
  const tools = (request.config.tools ?? []) as Tool[];
  const entry = tools.find((each) => each.functionDeclarations);
  if (entry) entry.functionDeclarations?.push(declaration);
  else tools.push({ functionDeclarations: [declaration] });
  request.config.tools = tools;
}

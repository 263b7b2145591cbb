import { assertName, MeshError } from '@agentmesh/protocol';
import type { FunctionDeclaration, Tool } from '@google/genai';
import type { LlmRequest } from './base-llm.ts';
import type { Context } from './context.ts';

export interface BaseToolConfig {
  name: string;
  description: string;
  /**
   * Keeps the call pending until an answer from outside arrives; the first return value of the tool is only
   * an interim state.
   */
  isLongRunning?: boolean;
  /** Time limit for an answer from outside, in ms; default: none. */
  answerWithinMs?: number;
  /**
   * Tells whether the tool uses the memories of the user. On a mesh with access rules, the service of a tool
   * may use no memories without it. Default false.
   */
  usesMemory?: boolean;
  /**
   * Tells whether the tool uses files (artifacts). On a mesh with access rules, the service of a tool may use
   * no files without it. Default false.
   */
  usesArtifacts?: boolean;
  /**
   * The keys of the credentials that the tool requests. On a mesh with access rules, its service may use no
   * other credentials. Default: none.
   */
  credentialKeys?: readonly string[];
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

/** The base class of tools: functions that a model may call. */
export abstract class BaseTool {
  readonly name: string;
  readonly #description: string;
  readonly #isLongRunning: boolean;
  readonly #answerWithinMs: number | undefined;
  readonly #usesMemory: boolean;
  readonly #usesArtifacts: boolean;
  readonly #credentialKeys: readonly string[];

  /**
   * @throws MeshError `invalid_argument` for a name that function declarations cannot hold, or an invalid
   * time.
   */
  constructor({
    name,
    description,
    isLongRunning = false,
    answerWithinMs,
    usesMemory = false,
    usesArtifacts = false,
    credentialKeys = [],
  }: BaseToolConfig) {
    this.name = assertName('tool', name);
    this.#description = description;
    this.#isLongRunning = isLongRunning;
    if (answerWithinMs !== undefined && !(Number.isSafeInteger(answerWithinMs) && answerWithinMs > 0)) {
      throw new MeshError('invalid_argument', `tool ${name}: answerWithinMs must be whole ms above 0`);
    }
    this.#answerWithinMs = answerWithinMs;
    this.#usesMemory = usesMemory;
    this.#usesArtifacts = usesArtifacts;
    this.#credentialKeys = [...credentialKeys];
  }

  get description(): string {
    return this.#description;
  }

  get isLongRunning(): boolean {
    return this.#isLongRunning;
  }

  /**
   * Time limit for an answer from outside (the outcome of a long-running call, a person's confirmation), in
   * ms; undefined means no limit. When it passes, the call ends without the answer. In a single process
   * without a mesh nothing watches the limit; a late answer is then refused.
   */
  get answerWithinMs(): number | undefined {
    return this.#answerWithinMs;
  }

  /** Tells whether the tool uses the memories of the user. */
  get usesMemory(): boolean {
    return this.#usesMemory;
  }

  /** Tells whether the tool uses files. */
  get usesArtifacts(): boolean {
    return this.#usesArtifacts;
  }

  /** The keys of the credentials that the tool requests. */
  get credentialKeys(): readonly string[] {
    return this.#credentialKeys;
  }

  /**
   * Tells whether a repeated call with the same function-call id returns the result of the first call. Only
   * then is a long-running call repeated after a crash.
   */
  get isIdempotent(): boolean {
    return false;
  }

  /**
   * Tells whether another process does the work. That process fetches the credentials that the work needs.
   */
  get isRemote(): boolean {
    return false;
  }

  /** Tells whether a person must confirm a call with these arguments before the tool runs. */
  async checkRequireConfirmation(_args: unknown, _toolContext: Context): Promise<boolean> {
    return false;
  }

  /**
   * Returns the declaration for the model; undefined for a tool that the model's own service runs. Tools
   * override this method, as in ADK.
   */
  _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  /** Returns the declaration for the model. */
  getDeclaration(): FunctionDeclaration | undefined {
    return this._getDeclaration();
  }

  /** Does the work. Its return value or its exception goes back to the model. */
  abstract runAsync(request: RunToolRequest): Promise<unknown>;

  /**
   * Adds the tool to a request. Override it to add something else: an instruction, content, a tool of the
   * model's own service.
   *
   * @throws MeshError `invalid_argument` when the request has another tool of this name
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
  // All declarations go into one entry, because models refuse several.
  const tools = (request.config.tools ?? []) as Tool[];
  const entry = tools.find((each) => each.functionDeclarations);
  if (entry) entry.functionDeclarations?.push(declaration);
  else tools.push({ functionDeclarations: [declaration] });
  request.config.tools = tools;
}

import { MeshError } from '@agentmesh/protocol';
import { type FunctionDeclaration, type Schema, Type } from '@google/genai';
import { z } from 'zod';
import { BaseTool, type RunToolRequest } from './base-tool.ts';
import type { Context } from './context.ts';
import { isZodObject, type ToolParameters, zodToSchema } from './schema.ts';

/** What `execute` gets: what the zod schema makes of the arguments, or the arguments as the model sent them. */
export type ToolArgs<P> = P extends z.ZodObject
  ? z.output<P>
  : P extends Schema
    ? unknown
    : Record<string, unknown>;

// Methods compare their parameters both ways, so a function that names a narrower argument type still fits.
type Execute<P> = { call(input: ToolArgs<P>, toolContext?: Context): unknown }['call'];

export interface FunctionToolOptions<P extends ToolParameters | undefined> {
  /** Default: the name of `execute`. */
  name?: string;
  description: string;
  parameters?: P;
  execute: Execute<P>;
  isLongRunning?: boolean;
}

/** A function as a tool. */
export class FunctionTool<P extends ToolParameters | undefined = undefined> extends BaseTool {
  readonly #parameters: P | undefined;
  readonly #execute: Execute<P>;
  readonly #declaration: FunctionDeclaration;

  /** @throws MeshError `invalid_argument` without a name, or for parameters that a declaration cannot show. */
  constructor(options: FunctionToolOptions<P>) {
    const name = options.name ?? options.execute.name;
    if (!name)
      throw new MeshError('invalid_argument', 'a tool made of a function without name needs the option name');
    super({ name, description: options.description, isLongRunning: options.isLongRunning ?? false });
    this.#parameters = options.parameters;
    this.#execute = options.execute;
    this.#declaration = {
      name,
      description: this.description,
      parameters: declaredParameters(name, options.parameters),
    };
  }

  override getDeclaration(): FunctionDeclaration {
    return { ...this.#declaration, description: this.description };
  }

  override async runAsync({ args, toolContext }: RunToolRequest): Promise<unknown> {
    const input = this.#readArgs(args);
    return await this.#execute(input, toolContext);
  }

  #readArgs(args: Record<string, unknown>): ToolArgs<P> {
    if (!isZodObject(this.#parameters)) return args as ToolArgs<P>;
    const result = this.#parameters.safeParse(args);
    if (result.success) return result.data as ToolArgs<P>;
    throw new ToolArgumentsError(this.name, args, result.error);
  }
}

/** The model's arguments do not fit; the message tells it which and how, so that it can call again. */
export class ToolArgumentsError extends MeshError {
  constructor(tool: string, args: Record<string, unknown>, error: z.ZodError) {
    const problems = error.issues.map((issue) => {
      const path = issue.path.map(String).join('.');
      const missing = issue.path.length > 0 && valueAt(args, issue.path) === undefined;
      return missing ? `missing parameter "${path}"` : `parameter "${path || '(all)'}": ${issue.message}`;
    });
    super(
      'invalid_argument',
      `invalid arguments for ${tool}: ${problems.join('; ')}. Call it again with all of them right.`,
    );
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}

function declaredParameters(tool: string, parameters: ToolParameters | undefined): Schema {
  if (parameters === undefined) return { type: Type.OBJECT, properties: {} };
  if (!(parameters instanceof z.ZodType)) return parameters;
  try {
    return zodToSchema(parameters);
  } catch (cause) {
    throw new MeshError(
      'invalid_argument',
      `the parameters of tool ${tool} cannot be shown to a model: ${String(cause)}`,
      {
        cause,
      },
    );
  }
}

/**
 * A function whose real result comes later: it starts the work and returns what is known now (a ticket, say), or nothing.
 * Whoever finishes the work sends a function response of the same call id.
 */
export class LongRunningFunctionTool<
  P extends ToolParameters | undefined = undefined,
> extends FunctionTool<P> {
  constructor(options: Omit<FunctionToolOptions<P>, 'isLongRunning'>) {
    super({ ...options, isLongRunning: true });
  }

  override get description(): string {
    return `${super.description}\n\nThis operation takes long: after a status such as "pending" do not call it again for the same work.`.trim();
  }
}

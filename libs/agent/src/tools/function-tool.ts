import {
  assertOptions,
  type ConfirmableBy,
  flagKind,
  functionKind,
  kindOf,
  listOf,
  MeshError,
  type OptionNames,
  textKind,
  timeKind,
  unlessAborted,
} from '@agentmesh/protocol';
import type { FunctionDeclaration, Schema } from '@google/genai';
import type { z } from 'zod';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import { readConfirmableBy } from '../base/confirmable-by.ts';
import type { Context } from '../base/context.ts';
import {
  describeMisfit,
  isZodObject,
  missingKeys,
  parseValue,
  showParameters,
  type ToolParameters,
} from '../schema/schema.ts';

/** The arguments of `execute`: the output of the zod schema, or the arguments as the model sent them. */
export type ToolArgs<P> = P extends z.ZodObject
  ? z.output<P>
  : P extends Schema
    ? unknown
    : Record<string, unknown>;

// The method form makes parameters bivariant, so a function with a narrower argument type fits too.
export type ToolExecuteFunction<P> = { call(input: ToolArgs<P>, toolContext?: Context): unknown }['call'];
type NeedsConfirmation<P> = {
  call(input: ToolArgs<P>, toolContext: Context): boolean | Promise<boolean>;
}['call'];

export interface FunctionToolOptions<P extends ToolParameters | undefined> {
  /** Default: the name of `execute`. */
  name?: string;
  description: string;
  parameters?: P;
  /**
   * Does the work. An async generator reports progress: each yielded value is committed as a response of the
   * call, and the return value is the result. Yield seldom, because each value is stored.
   */
  execute: ToolExecuteFunction<P>;
  isLongRunning?: boolean;
  /**
   * Time limit for the result of a long-running call, or for a person's confirmation, in ms; default: none.
   */
  answerWithinMs?: number;
  /**
   * Tells whether a person must confirm a call before it runs: each call, or the calls for which the function
   * returns true. Default false.
   */
  requireConfirmation?: boolean | NeedsConfirmation<P>;
  /**
   * The people who may give this confirmation; default: everybody who may write to the session.
   * `{ roles: ['manager'], notByAsker: true }`: a manager who is not the user of the session.
   */
  confirmableBy?: ConfirmableBy;
  /**
   * Time limit of a call in ms; default: none. When it passes, the call is an error and the signal in the
   * tool's context is aborted.
   */
  timeoutMs?: number;
  /**
   * Tells whether `execute` uses the memories of the user. On a mesh with access rules, the service of a tool
   * may use no memories without it. Default false.
   */
  usesMemory?: boolean;
  /**
   * Tells whether `execute` uses files (artifacts). On a mesh with access rules, the service of a tool may use
   * no files without it. Default false.
   */
  usesArtifacts?: boolean;
  /**
   * The keys of the credentials that `execute` requests. On a mesh with access rules, its service may use no
   * other credentials. Default: none.
   */
  credentialKeys?: readonly string[];
}

/** ADK's names for the parts of a {@link FunctionTool}. */
export type RequireConfirmation<P> = boolean | NeedsConfirmation<P>;
export type ToolExecuteArgument<P> = ToolArgs<P>;
export type ToolInputParameters = ToolParameters | undefined;

export type ToolOptions<P extends ToolParameters | undefined> = FunctionToolOptions<P>;

export const functionToolOptions: OptionNames<FunctionToolOptions<undefined>> = {
  name: textKind,
  description: textKind,
  parameters: true,
  execute: functionKind,
  isLongRunning: flagKind,
  answerWithinMs: true,
  requireConfirmation: kindOf('true, false or a function', (value) =>
    ['boolean', 'function'].includes(typeof value),
  ),
  confirmableBy: true,
  timeoutMs: timeKind,
  usesMemory: flagKind,
  usesArtifacts: flagKind,
  credentialKeys: listOf(textKind),
};

/** A function as a tool. */
export class FunctionTool<P extends ToolParameters | undefined = undefined> extends BaseTool {
  readonly #parameters: P | undefined;
  readonly #execute: ToolExecuteFunction<P>;
  readonly #declaration: FunctionDeclaration;
  readonly #timeoutMs: number | undefined;
  readonly #requireConfirmation: boolean | NeedsConfirmation<P>;
  readonly #confirmableBy: ConfirmableBy | undefined;

  /**
   * @throws MeshError `invalid_argument` for an unknown option, a missing name or function, or parameters
   * that a declaration cannot show.
   */
  constructor(options: FunctionToolOptions<P>) {
    const isOpen = new.target !== FunctionTool && new.target !== LongRunningFunctionTool;
    assertOptions(`tool ${options?.name ?? ''}`.trim(), options ?? null, functionToolOptions, { isOpen });
    if (typeof options.execute !== 'function')
      throw new MeshError('invalid_argument', `tool ${options.name}: execute must be a function`);
    const name = options.name ?? options.execute.name;
    if (!name)
      throw new MeshError('invalid_argument', 'a tool made of a function without name needs the option name');
    super({
      name,
      description: options.description,
      isLongRunning: options.isLongRunning ?? false,
      ...(options.answerWithinMs !== undefined && { answerWithinMs: options.answerWithinMs }),
      usesMemory: options.usesMemory ?? false,
      usesArtifacts: options.usesArtifacts ?? false,
      credentialKeys: options.credentialKeys ?? [],
    });
    this.#parameters = options.parameters;
    this.#execute = options.execute;
    this.#timeoutMs = options.timeoutMs;
    this.#requireConfirmation = options.requireConfirmation ?? false;
    this.#confirmableBy = readPolicy(name, options);
    this.#declaration = {
      name,
      description: this.description,
      parameters: showParameters(options.parameters, `tool ${name}: parameters`),
    };
  }

  override _getDeclaration(): FunctionDeclaration {
    return { ...this.#declaration, description: this.description };
  }

  override async runAsync({ args, toolContext }: RunToolRequest): Promise<unknown> {
    const input = this.#readArgs(args);
    if (await this.checkRequireConfirmation(input, toolContext)) {
      const { toolConfirmation } = toolContext;
      if (!toolConfirmation) return askFirst(this.name, this.#confirmableBy, toolContext);
      if (!toolConfirmation.confirmed) return { error: `the call of ${this.name} was rejected` };
    }
    if (this.#timeoutMs === undefined) return await this.#execute(input, toolContext);
    return await this.#runInTime(input, toolContext, this.#timeoutMs);
  }

  override async checkRequireConfirmation(input: unknown, toolContext: Context): Promise<boolean> {
    const needed = this.#requireConfirmation;
    return typeof needed === 'function' ? await needed(input as ToolArgs<P>, toolContext) : needed;
  }

  async #runInTime(input: ToolArgs<P>, toolContext: Context, timeoutMs: number): Promise<unknown> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLate(timeoutMs)), timeoutMs);
    const { abortSignal } = toolContext;
    const signal = abortSignal ? AbortSignal.any([abortSignal, late.signal]) : late.signal;
    let result: unknown;
    try {
      const work = Promise.resolve(this.#execute(input, toolContext.with({ abortSignal: signal })));
      result = await unlessAborted(work, signal);
      if (!isAsyncGenerator(result)) return result;
    } finally {
      // A generator has only begun; its time limit stays in force.
      if (!isAsyncGenerator(result)) clearTimeout(timer);
    }
    return inTime(result, signal, timer);
  }

  #readArgs(args: Record<string, unknown>): ToolArgs<P> {
    const parameters = this.#parameters;
    if (isZodObject(parameters)) {
      const result = parseValue(parameters, args);
      if (result.success) return result.data as ToolArgs<P>;
      throw new ToolArgumentsError(this.name, describeMisfit(args, result.error));
    }
    const missing = parameters ? missingKeys(parameters, args) : [];
    if (missing.length === 0) return args as ToolArgs<P>;
    throw new ToolArgumentsError(this.name, missing.map((key) => `missing parameter "${key}"`).join('; '));
  }
}

/**
 * The error for arguments of a model that do not fit. The message names these arguments and the reason, so
 * that the model can call again.
 */
export class ToolArgumentsError extends MeshError {
  constructor(tool: string, problems: string) {
    super(
      'invalid_argument',
      `invalid arguments for ${tool}: ${problems}. Call it again with all of them right.`,
    );
  }
}

/** @throws MeshError `invalid_argument` for a policy of a tool that asks for no confirmation */
function readPolicy<P extends ToolParameters | undefined>(
  name: string,
  { confirmableBy, requireConfirmation = false }: FunctionToolOptions<P>,
): ConfirmableBy | undefined {
  if (confirmableBy === undefined) return undefined;
  if (requireConfirmation) return readConfirmableBy(`tool ${name}`, confirmableBy);
  throw new MeshError(
    'invalid_argument',
    `tool ${name} has confirmableBy and no requireConfirmation; set it, or give confirmableBy to requestConfirmation`,
  );
}

function askFirst(
  tool: string,
  confirmableBy: ConfirmableBy | undefined,
  toolContext: Context,
): { error: string } {
  toolContext.requestConfirmation({
    ...(confirmableBy && { confirmableBy }),
    hint: `Please approve or reject the call of ${tool}: answer with {"confirmed": true} or {"confirmed": false}.`,
  });
  toolContext.actions.skipSummarization = true;
  return { error: `the call of ${tool} waits for a person's confirmation` };
}

function tooLate(timeoutMs: number): MeshError {
  return new MeshError('deadline_exceeded', `it did not answer within ${timeoutMs} ms`);
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, void> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value;
}

async function* inTime(
  work: AsyncGenerator<unknown, unknown, void>,
  signal: AbortSignal,
  timer: NodeJS.Timeout,
): AsyncGenerator<unknown, unknown, void> {
  try {
    for (;;) {
      const step = await unlessAborted(work.next(), signal);
      if (step.done) return step.value;
      yield step.value;
    }
  } finally {
    clearTimeout(timer);
    // The caller does not wait for the generator's end, because a generator that hangs would never end.
    work.return(undefined).catch(() => {});
  }
}

/**
 * A function whose outcome comes later: it starts the work and returns an interim result (a ticket, say), or
 * nothing. The program that finishes the work sends a function response with the same call id; progress
 * before that has `willContinue`.
 *
 * An async generator is run to its end at once: see {@link FunctionToolOptions.execute}.
 */
export class LongRunningFunctionTool<
  P extends ToolParameters | undefined = undefined,
> extends FunctionTool<P> {
  /** @throws MeshError `invalid_argument` as for {@link FunctionTool}, and for `isLongRunning: false` */
  constructor(options: FunctionToolOptions<P>) {
    if (options?.isLongRunning === false) {
      throw new MeshError(
        'invalid_argument',
        `tool ${options.name}: a LongRunningFunctionTool is long-running; use a FunctionTool`,
      );
    }
    super({ ...options, isLongRunning: true });
  }

  override get description(): string {
    return `${super.description}\n\nThis operation takes long: after a status such as "pending" do not call it again for the same work.`.trim();
  }
}

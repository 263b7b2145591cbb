import { assertOptions, MeshError, type OptionNames, unlessAborted } from '@agentmesh/protocol';
import { type FunctionDeclaration, type Schema, Type } from '@google/genai';
import type { z } from 'zod';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import type { Context } from '../base/context.ts';
import {
  describeMisfit,
  isZodObject,
  missingKeys,
  showSchema,
  type ToolParameters,
} from '../schema/schema.ts';

/** What `execute` gets: what the zod schema makes of the arguments, or the arguments as the model sent them. */
export type ToolArgs<P> = P extends z.ZodObject
  ? z.output<P>
  : P extends Schema
    ? unknown
    : Record<string, unknown>;

// Methods compare their parameters both ways, so a function that names a narrower argument type still fits.
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
   * Does the work. An async generator says on its way how far it is: each value that it yields is committed as a response of the call, and what
   * it returns is the result. Yield seldom: each one is kept.
   */
  execute: ToolExecuteFunction<P>;
  isLongRunning?: boolean;
  /** How long the result of a long-running call, or a person's confirmation, is waited for, in ms; default for ever. */
  answerWithinMs?: number;
  /** Must a person confirm each call, or those for which the function says so, before it is made? Default false. */
  requireConfirmation?: boolean | NeedsConfirmation<P>;
  /** After this long the call is an error and the signal in the tool's context is aborted; default: no limit, ms. */
  timeoutMs?: number;
}

/** ADK's names of what a {@link FunctionTool} is made of. */
export type RequireConfirmation<P> = boolean | NeedsConfirmation<P>;
export type ToolExecuteArgument<P> = ToolArgs<P>;
export type ToolInputParameters = ToolParameters | undefined;

export type ToolOptions<P extends ToolParameters | undefined> = FunctionToolOptions<P>;

export const functionToolOptions: OptionNames<FunctionToolOptions<undefined>> = {
  name: true,
  description: true,
  parameters: true,
  execute: true,
  isLongRunning: true,
  answerWithinMs: true,
  requireConfirmation: true,
  timeoutMs: true,
};

/** A function as a tool. */
export class FunctionTool<P extends ToolParameters | undefined = undefined> extends BaseTool {
  readonly #parameters: P | undefined;
  readonly #execute: ToolExecuteFunction<P>;
  readonly #declaration: FunctionDeclaration;
  readonly #timeoutMs: number | undefined;
  readonly #requireConfirmation: boolean | NeedsConfirmation<P>;

  /** @throws MeshError `invalid_argument` for an unknown option, without a name or a function, or for parameters that a declaration cannot show. */
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
    });
    this.#parameters = options.parameters;
    this.#execute = options.execute;
    this.#timeoutMs = options.timeoutMs;
    this.#requireConfirmation = options.requireConfirmation ?? false;
    this.#declaration = {
      name,
      description: this.description,
      parameters: declaredParameters(name, options.parameters),
    };
  }

  override _getDeclaration(): FunctionDeclaration {
    return { ...this.#declaration, description: this.description };
  }

  override async runAsync({ args, toolContext }: RunToolRequest): Promise<unknown> {
    const input = this.#readArgs(args);
    if (await this.checkRequireConfirmation(input, toolContext)) {
      const { toolConfirmation } = toolContext;
      if (!toolConfirmation) return askFirst(this.name, toolContext);
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
      // A generator has only begun; its time goes on.
      if (!isAsyncGenerator(result)) clearTimeout(timer);
    }
    return inTime(result, signal, timer);
  }

  #readArgs(args: Record<string, unknown>): ToolArgs<P> {
    const parameters = this.#parameters;
    if (isZodObject(parameters)) {
      const result = parameters.safeParse(args);
      if (result.success) return result.data as ToolArgs<P>;
      throw new ToolArgumentsError(this.name, describeMisfit(args, result.error));
    }
    const missing = parameters ? missingKeys(parameters, args) : [];
    if (missing.length === 0) return args as ToolArgs<P>;
    throw new ToolArgumentsError(this.name, missing.map((key) => `missing parameter "${key}"`).join('; '));
  }
}

/** The model's arguments do not fit; the message tells it which and how, so that it can call again. */
export class ToolArgumentsError extends MeshError {
  constructor(tool: string, problems: string) {
    super(
      'invalid_argument',
      `invalid arguments for ${tool}: ${problems}. Call it again with all of them right.`,
    );
  }
}

function askFirst(tool: string, toolContext: Context): { error: string } {
  toolContext.requestConfirmation({
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
    // Not waited for: a generator that hangs would hang its own end too.
    work.return(undefined).catch(() => {});
  }
}

function declaredParameters(tool: string, parameters: ToolParameters | undefined): Schema {
  if (parameters === undefined) return { type: Type.OBJECT, properties: {} };
  return showSchema(parameters, `tool ${tool}: parameters`);
}

/**
 * A function whose real result comes later: it starts the work and returns what is known now (a ticket, say), or nothing.
 * Whoever finishes the work sends a function response of the same call id, with `willContinue` as long as it is not the last.
 *
 * An async generator is worked through at once: see {@link FunctionToolOptions.execute}.
 */
export class LongRunningFunctionTool<
  P extends ToolParameters | undefined = undefined,
> extends FunctionTool<P> {
  /** @throws MeshError `invalid_argument` as {@link FunctionTool}, and for `isLongRunning: false` */
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

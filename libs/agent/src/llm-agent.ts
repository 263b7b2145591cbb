import { type Event, MeshError } from '@agentmesh/protocol';
import type { GenerateContentConfig } from '@google/genai';
import type { z } from 'zod';
import { BaseAgent, type BaseAgentConfig } from './base-agent.ts';
import type { BaseTool } from './base-tool.ts';
import { BaseToolset } from './base-toolset.ts';
import { asList, type LlmCallbacks } from './callbacks.ts';
import type { BaseCodeExecutor } from './code-executors/base-code-executor.ts';
import { runCode } from './code-executors/run-code.ts';
import { assertCompactors, type BaseContextCompactor } from './compaction/context-compactor.ts';
import type { ReadonlyContext } from './context.ts';
import { createEvent } from './event.ts';
import { callModel, describeFailure } from './flow/call-model.ts';
import { callTools } from './flow/call-tools.ts';
import type { InstructionProvider } from './flow/instructions.ts';
import { nextStep } from './flow/next-step.ts';
import { resolveTools, type StepTools } from './flow/request.ts';
import type { InvocationContext, TransferTarget } from './invocation-context.ts';
import type { BaseLlm } from './models/llm.ts';
import { LLMRegistry } from './models/registry.ts';
import { isZodObject, showSchema, type ToolParameters } from './schema.ts';

export type { InstructionProvider } from './flow/instructions.ts';

export interface LlmAgentConfig extends BaseAgentConfig, LlmCallbacks {
  /** A model, or its name for {@link LLMRegistry}; default: that of the nearest ancestor. */
  model?: string | BaseLlm;
  /** What the agent shall do. `{key}` is filled from the state, `{artifact.name}` with a file, `{key?}` where it may be missing. */
  instruction?: string | InstructionProvider;
  /** Of the root agent: what all agents of the tree shall do. */
  globalInstruction?: string | InstructionProvider;
  tools?: (BaseTool | BaseToolset)[];
  generateContentConfig?: GenerateContentConfig;
  disallowTransferToParent?: boolean;
  disallowTransferToPeers?: boolean;
  /** `none`: the model sees only the current turn. */
  includeContents?: 'default' | 'none';
  /** Keep its prompts short, in this order; default those of the app. An empty list: they are as long as the conversation. */
  contextCompactors?: readonly BaseContextCompactor[];
  /** What an ask of this agent must hold, when it is not plain text. */
  inputSchema?: ToolParameters;
  /** What the agent's answer must be, as JSON; the agent then keeps the conversation to itself. */
  outputSchema?: ToolParameters;
  /** State key that the agent's answer is written to: without its thoughts, with `outputSchema` as the value that it is. */
  outputKey?: string;
  /** Runs the code that the model writes, and gives it the result. */
  codeExecutor?: BaseCodeExecutor;
}

/** An agent that a model drives: it answers, calls tools, and hands over to other agents. */
export class LlmAgent extends BaseAgent {
  readonly instruction: string | InstructionProvider;
  readonly tools: readonly (BaseTool | BaseToolset)[];
  readonly generateContentConfig: GenerateContentConfig;
  readonly disallowTransferToParent: boolean;
  readonly disallowTransferToPeers: boolean;
  readonly includeContents: 'default' | 'none';
  readonly contextCompactors: readonly BaseContextCompactor[] | undefined;
  readonly globalInstruction: string | InstructionProvider;
  /** The input schema, where it is a zod object. */
  readonly inputSchema: z.ZodObject | undefined;
  /** The input schema, of either kind. */
  readonly inputParameters: ToolParameters | undefined;
  readonly outputSchema: ToolParameters | undefined;
  readonly outputKey: string | undefined;
  readonly codeExecutor: BaseCodeExecutor | undefined;
  readonly callbacks: LlmAgentCallbacks;
  readonly #model: string | BaseLlm | undefined;
  #llm: BaseLlm | undefined;

  /** @throws MeshError `invalid_argument` for a configuration that holds what has a key of its own. */
  constructor(config: LlmAgentConfig) {
    super(config);
    this.#model = config.model;
    this.instruction = config.instruction ?? '';
    this.tools = config.tools ?? [];
    this.generateContentConfig = config.generateContentConfig ?? {};
    this.globalInstruction = config.globalInstruction ?? '';
    this.outputSchema = config.outputSchema;
    // An answer in a form that programs read is no conversation that others could go on with.
    this.disallowTransferToParent =
      Boolean(config.outputSchema) || (config.disallowTransferToParent ?? false);
    this.disallowTransferToPeers = Boolean(config.outputSchema) || (config.disallowTransferToPeers ?? false);
    this.includeContents = config.includeContents ?? 'default';
    assertCompactors(this.name, config.contextCompactors);
    this.contextCompactors = config.contextCompactors;
    for (const key of ['inputSchema', 'outputSchema'] as const) {
      const schema = config[key];
      if (schema !== undefined) showSchema(schema, `agent ${this.name}: ${key}`);
    }
    this.inputParameters = config.inputSchema;
    this.inputSchema = isZodObject(config.inputSchema) ? config.inputSchema : undefined;
    this.callbacks = callbacksOf(config);
    this.outputKey = config.outputKey;
    this.codeExecutor = config.codeExecutor;
    for (const key of ['tools', 'systemInstruction', 'responseSchema'] as const) {
      if (this.generateContentConfig[key] !== undefined) {
        throw new MeshError(
          'invalid_argument',
          `agent ${this.name}: generateContentConfig.${key} has an option of its own on the agent`,
        );
      }
    }
  }

  /** The model. @throws MeshError `invalid_argument` when neither the agent nor an ancestor names one. */
  get llm(): BaseLlm {
    this.#llm ??= this.#findLlm();
    return this.#llm;
  }

  #findLlm(): BaseLlm {
    if (typeof this.#model === 'string') return LLMRegistry.newLlm(this.#model);
    if (this.#model) return this.#model;
    for (let agent = this.parentAgent; agent; agent = agent.parentAgent) {
      if (agent instanceof LlmAgent) return agent.llm;
    }
    throw new MeshError(
      'invalid_argument',
      `agent ${this.name} has no model, and no ancestor has one; give it one`,
    );
  }

  override get orchestrates(): boolean {
    return false;
  }

  get toolsets(): BaseToolset[] {
    return this.tools.filter((each) => each instanceof BaseToolset);
  }

  /** The tools of this step: toolsets are asked now. */
  async canonicalTools(context: ReadonlyContext): Promise<BaseTool[]> {
    const groups = await Promise.all(
      this.tools.map(async (each) => ({
        tools: each instanceof BaseToolset ? await each.selectedTools(context) : [each],
        givesWay: each instanceof BaseToolset && each.givesWay,
      })),
    );
    const fixed = groups.filter(({ givesWay }) => !givesWay).flatMap(({ tools }) => tools);
    const taken = new Set(fixed.map(({ name }) => name));
    return groups.flatMap(({ tools, givesWay }) => {
      const kept = givesWay ? tools.filter(({ name }) => !taken.has(name)) : tools;
      for (const { name } of kept) taken.add(name);
      return kept;
    });
  }

  /** Whom it may hand the conversation to: its sub-agents, its parent, its siblings, and what the mesh adds. */
  transferTargets(context: InvocationContext): TransferTarget[] {
    const parent = this.parentAgent;
    const up = parent instanceof LlmAgent ? this.#upward(parent) : [];
    const local = [...this.subAgents, ...up].map(({ name, description }) => ({ name, description }));
    const known = new Set(local.map(({ name }) => name));
    const elsewhere = context.transfers?.targets(this.name) ?? [];
    return [...local, ...elsewhere.filter(({ name }) => !known.has(name))];
  }

  #upward(parent: LlmAgent): BaseAgent[] {
    const peers = parent.subAgents.filter((peer) => peer !== this);
    return [
      ...(this.disallowTransferToParent ? [] : [parent]),
      ...(this.disallowTransferToPeers ? [] : peers),
    ];
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    let tools: StepTools | undefined;
    for (;;) {
      context.abortSignal?.throwIfAborted();
      const step = nextStep(context);
      if (step.kind === 'done' || step.kind === 'transfer') return;
      const asked = tools;
      // A call that waited for a person is made for the first time after the answer, unless a process died at it.
      const isNew =
        asked !== undefined || (step.kind === 'call-tools' && step.answered && context.attempt === 1);
      tools = step.kind === 'call-tools' && asked ? asked : await resolveTools(this, context);
      const events =
        step.kind === 'call-model'
          ? callModel(this, context, tools)
          : step.kind === 'run-code'
            ? runCode(this, context, step.event)
            : callTools(this, context, { ...step, tools, resumed: !isNew });
      let committed = false;
      for await (const event of events) {
        yield event;
        committed ||= !event.partial;
      }
      // Nothing was committed: a model without an answer, or calls that are all open. There is nothing to go on from.
      if (!committed || context.endInvocation) return;
    }
  }

  /** From here on the target has the word. What goes wrong there is its failure, and this agent's model is not asked again. */
  protected override async *handOver(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const step = nextStep(context);
    if (step.kind !== 'transfer') return;
    const { to } = step;
    const { transfers } = context;
    const inTree = this.rootAgent.findAgent(to);
    if (!inTree || inTree.isRemote) {
      if (!transfers) throw elsewhere(to);
      // Within a workflow, or for somebody who waits for the answer, this process goes on when the target has spoken.
      if (context.path === undefined && transfers.handOver) return transfers.handOver(to);
    }
    const target = inTree ?? transfers?.remote(to);
    if (!target) throw elsewhere(to);
    try {
      yield* target.runAsync(context);
    } catch (error) {
      context.abortSignal?.throwIfAborted();
      if (error instanceof MeshError && error.retryable) throw error;
      const { invocationId, branch } = context;
      yield createEvent({
        invocationId,
        author: to,
        ...(branch !== undefined && { branch }),
        ...describeFailure(error),
      });
    }
  }
}

function elsewhere(to: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `agent ${to} runs elsewhere: serve the root agent on the mesh (serveAgent) to transfer to it`,
  );
}

/** An agent's callbacks as lists. */
export type LlmAgentCallbacks = ReturnType<typeof callbacksOf>;

function callbacksOf(config: LlmCallbacks) {
  return {
    beforeModelCallback: asList(config.beforeModelCallback),
    afterModelCallback: asList(config.afterModelCallback),
    onModelErrorCallback: asList(config.onModelErrorCallback),
    beforeToolCallback: asList(config.beforeToolCallback),
    afterToolCallback: asList(config.afterToolCallback),
    onToolErrorCallback: asList(config.onToolErrorCallback),
  };
}

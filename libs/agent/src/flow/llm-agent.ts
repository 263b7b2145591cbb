import { assertOptions, type Event, MeshError } from '@agentmesh/protocol';
import type { GenerateContentConfig } from '@google/genai';
import type { z } from 'zod';
import { BaseAgent, unsupportedAgentOptions, work } from '../base/base-agent.ts';
import type { BaseCodeExecutor } from '../base/base-code-executor.ts';
import type { BaseLlm } from '../base/base-llm.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { BaseToolset, toolsOf } from '../base/base-toolset.ts';
import type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeModelCallback,
  BeforeToolCallback,
  InstructionProvider,
  LlmCallbacks,
  OnModelErrorCallback,
  OnToolErrorCallback,
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
} from '../base/callbacks.ts';
import type { ReadonlyContext } from '../base/context.ts';
import { assertCompactors, type BaseContextCompactor } from '../base/context-compactor.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import type { TransferTarget } from '../base/transfer-port.ts';
import { asGenerator, type Emit } from '../events/emit.ts';
import { LLMRegistry } from '../models/registry.ts';
import { isZodObject, showSchema, type ToolParameters } from '../schema/schema.ts';
import {
  callbacksIn,
  callbacksOf,
  changeable,
  type LlmAgentCallbacks,
  type LlmAgentConfig,
  llmAgentOptions,
  type ToolUnion,
} from './llm-agent-config.ts';
import { runTarget, takeSteps } from './take-steps.ts';

export type { LlmAgentConfig } from './llm-agent-config.ts';

/**
 * An agent that a model drives: it answers, calls tools, and transfers to other agents. A changed field takes
 * effect with the next step.
 */
export class LlmAgent extends BaseAgent<LlmAgentConfig> implements LlmCallbacks {
  instruction: string | InstructionProvider;
  tools: ToolUnion[];
  toolExecution: 'parallel' | 'sequential';
  generateContentConfig: GenerateContentConfig;
  disallowTransferToParent: boolean;
  disallowTransferToPeers: boolean;
  includeContents: 'default' | 'none';
  readonly contextCompactors: readonly BaseContextCompactor[] | undefined;
  override globalInstruction: string | InstructionProvider;
  /** The input schema, when it is a zod object. */
  readonly inputSchema: z.ZodObject | undefined;
  /** The input schema, of any kind. */
  readonly inputParameters: ToolParameters | undefined;
  readonly outputSchema: ToolParameters | undefined;
  outputKey: string | undefined;
  override codeExecutor: BaseCodeExecutor | undefined;
  beforeModelCallback?: BeforeModelCallback;
  afterModelCallback?: AfterModelCallback;
  onModelErrorCallback?: OnModelErrorCallback;
  beforeToolCallback?: BeforeToolCallback;
  afterToolCallback?: AfterToolCallback;
  onToolErrorCallback?: OnToolErrorCallback;
  #model: string | BaseLlm | undefined;
  #llm: BaseLlm | undefined;

  /**
   * @throws MeshError `invalid_argument` for an unknown option, a schema that cannot be shown to models, or a
   * field of `generateContentConfig` that is an option of the agent.
   */
  constructor(config: LlmAgentConfig) {
    super(config);
    assertOptions(`agent ${this.name}`, config, llmAgentOptions, {
      unsupported: unsupportedAgentOptions,
      isOpen: new.target !== LlmAgent,
    });
    this.#model = config.model;
    this.instruction = config.instruction ?? '';
    this.tools = config.tools ?? [];
    this.toolExecution = config.toolExecution ?? 'parallel';
    this.generateContentConfig = config.generateContentConfig ?? {};
    this.globalInstruction = config.globalInstruction ?? '';
    this.outputSchema = config.outputSchema;
    // Other agents could not continue a conversation whose answers are for programs.
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
    Object.assign(this, callbacksIn(config));
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

  /** The `model` option; undefined when the agent uses the model of an ancestor. */
  get model(): string | BaseLlm | undefined {
    return this.#model;
  }

  set model(model: string | BaseLlm | undefined) {
    this.#model = model;
    this.#llm = undefined;
  }

  /** ADK's name for {@link llm}. */
  get canonicalModel(): BaseLlm {
    return this.llm;
  }

  /** The callbacks around the model and the tools, as lists. */
  get callbacks(): LlmAgentCallbacks {
    return callbacksOf(this);
  }

  get canonicalBeforeModelCallbacks(): SingleBeforeModelCallback[] {
    return this.callbacks.beforeModelCallback;
  }

  get canonicalAfterModelCallbacks(): SingleAfterModelCallback[] {
    return this.callbacks.afterModelCallback;
  }

  get canonicalBeforeToolCallbacks(): SingleBeforeToolCallback[] {
    return this.callbacks.beforeToolCallback;
  }

  get canonicalAfterToolCallbacks(): SingleAfterToolCallback[] {
    return this.callbacks.afterToolCallback;
  }

  /**
   * Makes a copy with the current model, instruction and other changed fields. See {@link BaseAgent.clone}.
   */
  override clone(overrides: Partial<LlmAgentConfig> = {}): this {
    return super.clone({ ...changeable(this), ...overrides });
  }

  /**
   * The model.
   *
   * @throws MeshError `invalid_argument` when neither the agent nor an ancestor names one
   */
  get llm(): BaseLlm {
    if (typeof this.#model === 'string') {
      this.#llm ??= LLMRegistry.newLlm(this.#model);
      return this.#llm;
    }
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

  override get hasOwnCode(): boolean {
    return this.isReplaced(LlmAgent);
  }

  get toolsets(): BaseToolset[] {
    return this.tools.filter((each) => each instanceof BaseToolset);
  }

  /** Returns the tools of this step. The toolsets are asked again at each step. */
  async canonicalTools(context: ReadonlyContext): Promise<BaseTool[]> {
    return await toolsOf(this.tools, context);
  }

  /**
   * Returns the agents to which this agent may transfer: its sub-agents, its parent, its siblings, and the
   * agents that the mesh adds.
   */
  transferTargets(context: InvocationContext): TransferTarget[] {
    const parent = this.parentAgent;
    const up = parent instanceof LlmAgent ? this.#upward(parent) : [];
    const local = [...this.subAgents, ...up].map(({ name, description }) => ({ name, description }));
    const localNames = new Set(local.map(({ name }) => name));
    const remote = context.transfers?.targets(this.name) ?? [];
    return [...local, ...remote.filter(({ name }) => !localNames.has(name))];
  }

  #upward(parent: LlmAgent): BaseAgent[] {
    const peers = parent.subAgents.filter((peer) => peer !== this);
    return [
      ...(this.disallowTransferToParent ? [] : [parent]),
      ...(this.disallowTransferToPeers ? [] : peers),
    ];
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return asGenerator((emit) => this[work](context, emit));
  }

  protected override [work](context: InvocationContext, emit: Emit<Event>): Promise<void> {
    return takeSteps(this, context, emit);
  }

  protected override handOver(context: InvocationContext, emit: Emit<Event>): Promise<void> {
    return runTarget(this, context, emit);
  }
}

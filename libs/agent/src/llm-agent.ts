import { type Event, MeshError } from '@agentmesh/protocol';
import type { GenerateContentConfig } from '@google/genai';
import type { z } from 'zod';
import { BaseAgent, type BaseAgentConfig } from './base-agent.ts';
import { type BaseTool, BaseToolset } from './base-tool.ts';
import type { ReadonlyContext } from './context.ts';
import { callModel } from './flow/call-model.ts';
import { callTools } from './flow/call-tools.ts';
import { nextStep } from './flow/next-step.ts';
import type { InvocationContext, TransferTarget } from './invocation-context.ts';
import type { BaseLlm } from './models/llm.ts';
import { LLMRegistry } from './models/registry.ts';

/** An instruction that is made anew at every step; what it returns is used as it is. */
export type InstructionProvider = (context: ReadonlyContext) => string | Promise<string>;

export interface LlmAgentConfig extends BaseAgentConfig {
  /** A model, or its name for {@link LLMRegistry}; default: that of the nearest ancestor. */
  model?: string | BaseLlm;
  /** What the agent shall do. `{key}` is filled from the state, `{key?}` where it may be missing. */
  instruction?: string | InstructionProvider;
  tools?: (BaseTool | BaseToolset)[];
  generateContentConfig?: GenerateContentConfig;
  disallowTransferToParent?: boolean;
  disallowTransferToPeers?: boolean;
  /** `none`: the model sees only the current turn. */
  includeContents?: 'default' | 'none';
  /** What an ask of this agent must hold, when it is not plain text. */
  inputSchema?: z.ZodObject;
  /** State key that the agent's answer is written to. */
  outputKey?: string;
}

/** An agent that a model drives: it answers, calls tools, and hands over to other agents. */
export class LlmAgent extends BaseAgent {
  readonly instruction: string | InstructionProvider;
  readonly tools: readonly (BaseTool | BaseToolset)[];
  readonly generateContentConfig: GenerateContentConfig;
  readonly disallowTransferToParent: boolean;
  readonly disallowTransferToPeers: boolean;
  readonly includeContents: 'default' | 'none';
  readonly inputSchema: z.ZodObject | undefined;
  readonly outputKey: string | undefined;
  readonly #model: string | BaseLlm | undefined;
  #llm: BaseLlm | undefined;

  /** @throws MeshError `invalid_argument` for a configuration that holds what has a key of its own. */
  constructor(config: LlmAgentConfig) {
    super(config);
    this.#model = config.model;
    this.instruction = config.instruction ?? '';
    this.tools = config.tools ?? [];
    this.generateContentConfig = config.generateContentConfig ?? {};
    this.disallowTransferToParent = config.disallowTransferToParent ?? false;
    this.disallowTransferToPeers = config.disallowTransferToPeers ?? false;
    this.includeContents = config.includeContents ?? 'default';
    this.inputSchema = config.inputSchema;
    this.outputKey = config.outputKey;
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

  /** The tools of this step: toolsets are asked now. */
  async canonicalTools(): Promise<BaseTool[]> {
    const groups = this.tools.map((each) => (each instanceof BaseToolset ? each.selectedTools() : [each]));
    return (await Promise.all(groups)).flat();
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
    for (;;) {
      context.abortSignal?.throwIfAborted();
      const step = nextStep(context);
      if (step.kind === 'done') return;
      if (step.kind === 'transfer') {
        yield* this.#transfer(context, step.to);
        return;
      }
      const before = context.session.seq;
      yield* step.kind === 'call-model' ? callModel(this, context) : callTools(this, context, step.calls);
      // Nothing was committed: a model without an answer, or calls that are all open. There is nothing to go on from.
      if (context.session.seq === before) return;
    }
  }

  async *#transfer(context: InvocationContext, to: string): AsyncGenerator<Event, void, void> {
    const target = this.rootAgent.findAgent(to);
    if (target && !target.isRemote) yield* target.runAsync(context);
    else if (context.transfers) context.transfers.handOver(to);
    else {
      throw new MeshError(
        'failed_precondition',
        `agent ${to} runs elsewhere: serve the root agent on the mesh (serveAgent) to transfer to it`,
      );
    }
  }
}

import {
  assertName,
  assertOptions,
  type Event,
  flagKind,
  kindOf,
  listOf,
  MeshError,
  type OptionNames,
  textKind,
} from '@agentmesh/protocol';
import { stampPath } from '../events/agent-path.ts';
import { breathe } from '../events/breathe.ts';
import { asGenerator, drain, type Emit, ReaderGone } from '../events/emit.ts';
import { overLimitCode } from '../events/event.ts';
import { isRunOver, turnOf } from '../journal/journal.ts';
import { replay } from '../journal/replay.ts';
import { type AgentSpan, startAgentSpan } from '../telemetry/agent-span.ts';
import { callAfter, callBefore, isAnswered } from './agent-callbacks.ts';
import type { BaseCodeExecutor } from './base-code-executor.ts';
import {
  type AfterAgentCallback,
  asList,
  type BeforeAgentCallback,
  callbacks,
  type InstructionProvider,
  type SingleAgentCallback,
} from './callbacks.ts';
import type { InvocationContext } from './invocation-context.ts';

export interface BaseAgentConfig {
  name: string;
  /** Purpose of the agent in one line, for other agents and their models. */
  description?: string;
  subAgents?: BaseAgent[];
  beforeAgentCallback?: BeforeAgentCallback;
  afterAgentCallback?: AfterAgentCallback;
  /**
   * Tells whether the code of the agent, its callbacks or `saveInputBlobsAsArtifacts` use files (artifacts). On
   * a mesh with access rules, the service of an agent may use no files unless this option is set, or one of its
   * tools or its instruction uses files. Default false.
   */
  usesArtifacts?: boolean;
}

/** The names of the framework's own ways into an agent; user code has {@link BaseAgent.runAsync}. */
export const runAgent = Symbol('runAgent');
export const work = Symbol('work');

/** Number of times that one invocation may tell an agent that a limit is reached. */
const mostRefusals = 10;
export const baseAgentOptions: OptionNames<BaseAgentConfig> = {
  name: textKind,
  description: textKind,
  subAgents: listOf(kindOf('an agent', (value) => value instanceof BaseAgent)),
  beforeAgentCallback: callbacks,
  afterAgentCallback: callbacks,
  usesArtifacts: flagKind,
};

/** ADK's agent options that have no effect here, with their replacements. */
export const unsupportedAgentOptions = {
  parentAgent: 'list the agent among the subAgents of its parent',
  mode: 'use the agent in an AgentTool, or in a SequentialAgent, for a task',
  requestProcessors: 'use beforeModelCallback, a plugin, or processLlmRequest of a tool',
  responseProcessors: 'use afterModelCallback, or a plugin',
  examples: 'write them into the instruction',
  timeout: 'use timeoutMs of a FunctionTool, retryOptions of a model, or the abortSignal of a run',
  retryConfig: 'use retryOptions of the model, or a RoutedAgent',
  stateSchema: 'check the state in beforeAgentCallback',
  isolationScope: 'use the agent in an AgentTool: it then has a session of its own',
  rerunOnResume: 'agents that wait for an answer go on where they were',
  waitForOutput: 'agents that wait for an answer pause the workflow around them',
};

/**
 * The base class of all agents. A subclass implements `runAsyncImpl`; each event that this method yields is
 * committed before the method continues.
 */
export abstract class BaseAgent<C extends BaseAgentConfig = BaseAgentConfig> {
  /** The options that the constructor received. */
  protected readonly config: C;
  readonly name: string;
  readonly subAgents: readonly BaseAgent[];
  readonly beforeAgentCallback: readonly SingleAgentCallback[];
  readonly afterAgentCallback: readonly SingleAgentCallback[];
  /** The executor of the code that the agent's model writes. Only LLM agents have one. */
  readonly codeExecutor: BaseCodeExecutor | undefined = undefined;
  /** The instruction for all agents of the tree; the root agent holds it. Only LLM agents have one. */
  readonly globalInstruction: string | InstructionProvider = '';
  readonly #description: string;
  #parent: BaseAgent | undefined;

  /**
   * @throws MeshError `invalid_argument` for an option of ADK that has no effect here, a bad name, a name
   * used twice in the tree, or a sub-agent that has a parent.
   */
  constructor(config: C) {
    const rules = { unsupported: unsupportedAgentOptions, isOpen: true };
    assertOptions(`agent ${config?.name}`, config ?? null, baseAgentOptions, rules);
    const { name, description = '', subAgents = [] } = config;
    this.config = config;
    this.name = assertName('agent', name);
    this.#description = description;
    this.subAgents = subAgents;
    this.beforeAgentCallback = asList(config.beforeAgentCallback);
    this.afterAgentCallback = asList(config.afterAgentCallback);
    for (const child of subAgents) {
      if (child.#parent) {
        throw new MeshError(
          'invalid_argument',
          `agent ${child.name} is already a sub-agent of ${child.#parent.name}; make a second instance`,
        );
      }
      child.#parent = this;
    }
    const names = [...this.tree()].map((agent) => agent.name);
    const duplicate = names.find((each, index) => names.indexOf(each) !== index);
    if (duplicate)
      throw new MeshError('invalid_argument', `two agents of one tree are called ${duplicate}; rename one`);
  }

  get description(): string {
    return this.#description;
  }

  /** Tells whether the agent itself uses files. Its tools and sub-agents are not counted. */
  get usesArtifacts(): boolean {
    return this.config.usesArtifacts ?? false;
  }

  /**
   * Makes another agent of the same class and the same configuration, with copies of its sub-agents and
   * without a parent.
   *
   * @param overrides options that replace the agent's own
   * @throws MeshError `invalid_argument` for an option that the class does not have
   */
  clone(overrides: Partial<C> = {}): this {
    const subAgents = this.subAgents.map((child) => child.clone());
    return Reflect.construct(this.constructor, [{ ...this.config, subAgents, ...overrides }]);
  }

  /** Tells whether the agent runs in another process. A transfer to it then leaves this process. */
  get isRemote(): boolean {
    return false;
  }

  /**
   * Tells whether the agent runs its children itself, as workflows and agents with user code do. The runs of
   * its children then have paths, by which the journal finds them. An LLM agent does not run its children: it
   * transfers to them.
   */
  get orchestrates(): boolean {
    return true;
  }

  /**
   * Tells whether the agent runs user code, which may drop or change the events of the agents below it. The
   * framework's own agents do not.
   */
  get hasOwnCode(): boolean {
    return true;
  }

  /** Tells whether a subclass replaces the code of a class of agents. */
  protected isReplaced({ prototype }: { prototype: BaseAgent }): boolean {
    return this.runAsyncImpl !== prototype.runAsyncImpl || this.runAsync !== prototype.runAsync;
  }

  get parentAgent(): BaseAgent | undefined {
    return this.#parent;
  }

  get rootAgent(): BaseAgent {
    return this.#parent?.rootAgent ?? this;
  }

  /** Yields this agent and all agents below it. */
  *tree(): Generator<BaseAgent> {
    yield this;
    for (const child of this.subAgents) yield* child.tree();
  }

  /** Finds this agent, or an agent below it, by name. */
  findAgent(name: string): BaseAgent | undefined {
    for (const agent of this.tree()) if (agent.name === name) return agent;
    return undefined;
  }

  findSubAgent(name: string): BaseAgent | undefined {
    return this.subAgents.map((child) => child.findAgent(name)).find((found) => found !== undefined);
  }

  /**
   * Runs the agent in an invocation. The caller commits each event that is not partial before it asks for the
   * next event. Yields nothing when the journal shows that this run has already ended.
   */
  runAsync(parent: InvocationContext): AsyncGenerator<Event, void, void> {
    return asGenerator((emit) => this.#run(parent, emit, false));
  }

  /** Does the same as {@link runAsync}, for the framework: hands the events over without a generator. */
  [runAgent](parent: InvocationContext, emit: Emit<Event>): Promise<void> {
    const isReplaced = this.runAsync !== BaseAgent.prototype.runAsync;
    return isReplaced ? drain(this.runAsync(parent), emit) : this.#run(parent, emit);
  }

  /** The work of an agent without user code. The framework's own agents do it without a generator. */
  protected [work](context: InvocationContext, emit: Emit<Event>): Promise<void> {
    return drain(this.runAsyncImpl(context), emit);
  }

  async #run(parent: InvocationContext, emit: Emit<Event>, isDirect?: false): Promise<void> {
    const isChild = parent.agent !== this && parent.agent.orchestrates;
    const own = this.#contextIn(parent, isChild, isDirect);
    await breathe();
    if (isChild && isRunOver(own, parent.path)) return;
    using span = this.#startSpan(parent);
    const context = span ? own.with({ carrier: span.carrier }) : own;
    const stamped = (event: Event) => emit(this.#stamp(context, event));
    try {
      const { start, events } = turnOf(context);
      const before = await callBefore(context, start, events);
      if (before) await stamped(before);
      if (before?.content || isAnswered(context, start)) return;
      if (context.endInvocation) return;
      await (this.hasOwnCode
        ? replay(this, () => this.runAsyncImpl(context), context, stamped)
        : this[work](context, stamped));
      if (context.endInvocation || (this.orchestrates && context.isPaused)) return;
      const after = await callAfter(context, start);
      if (after) await stamped(after);
      // Only callbacks and user code transfer the conversation without the knowledge of the agent's own work.
      if (after || context.isFiltered || context.transferTo !== undefined)
        await this.handOver(context, stamped);
    } catch (thrown) {
      if (!(thrown instanceof ReaderGone)) span?.fail(thrown);
      throw thrown;
    }
  }

  /** The agent with which a run began has its span already, and a remote agent has it elsewhere. */
  #startSpan(parent: InvocationContext): AgentSpan | undefined {
    return parent.agent === this || this.isRemote ? undefined : startAgentSpan(this.name, parent);
  }

  #contextIn(parent: InvocationContext, isChild: boolean, isDirect?: false): InvocationContext {
    const step = isChild ? parent.startRun(this.name) : this.orchestrates ? this.name : undefined;
    const path = [parent.path, step].filter((each) => each !== undefined).join('.') || undefined;
    const isUnderOwnCode = parent.isUnderOwnCode || this.hasOwnCode;
    const isSame = parent.agent === this && parent.path === path && parent.isUnderOwnCode === isUnderOwnCode;
    if (isSame && isDirect !== false) return parent;
    return parent.with({
      agent: this,
      ...(path !== undefined && { path }),
      isUnderOwnCode,
      ...(isDirect === false && { isDirect }),
    });
  }

  /** Marks an event of the agent, or of an agent that it runs, as an event of this run. */
  #stamp(context: InvocationContext, event: Event): Event {
    const { path, invocationId } = context;
    if (path !== undefined) stampPath(event, path);
    event.author ||= this.name;
    // It differs for an event that user code took from another invocation.
    if (event.invocationId !== invocationId) event.invocationId = invocationId;
    if (context.isUnderOwnCode && !event.partial) context.heard.addId(event.id);
    if (event.errorCode === overLimitCode) this.#assertEnds(context, event);
    return event;
  }

  /** Ends the run when user code runs an agent again and again although it may call no model any more. */
  #assertEnds(context: InvocationContext, { author, errorMessage }: Event): void {
    if (author !== this.name && !this.isRemote) return;
    const { refusals } = context.notes;
    const count = (refusals.get(this.name) ?? 0) + 1;
    refusals.set(this.name, count);
    if (count <= mostRefusals) return;
    throw new MeshError(
      'failed_precondition',
      `agent ${this.name} was told ${mostRefusals} times that ${errorMessage}, and is run again: end the loop that runs it`,
    );
  }

  /**
   * Runs what follows the agent's own work and callbacks: the agent to which it has transferred the
   * conversation.
   */
  protected async handOver(_context: InvocationContext, _emit: Emit<Event>): Promise<void> {}

  /** Exists because subclasses written for ADK define it. Nothing calls it: there are no live conversations. */
  protected runLiveImpl(_context: InvocationContext): AsyncGenerator<Event, void, void> {
    const message = `agent ${this.name}: live conversations are not supported; use runAsync`;
    throw new MeshError('failed_precondition', message);
  }

  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;
}

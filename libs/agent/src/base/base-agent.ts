import { assertName, assertOptions, type Event, MeshError, type OptionNames } from '@agentmesh/protocol';
import { stampPath } from '../events/agent-path.ts';
import { breathe } from '../events/breathe.ts';
import { overLimitCode } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { identify } from '../journal/heard-events.ts';
import { isRunOver, isWaiting, journalOf, turnOf } from '../journal/journal.ts';
import { setStepMark, stepMarkOf } from '../journal/step-mark.ts';
import { callAgentCallbacks, callbackEventId } from './agent-callbacks.ts';
import type { BaseCodeExecutor } from './base-code-executor.ts';
import {
  type AfterAgentCallback,
  asList,
  type BeforeAgentCallback,
  type InstructionProvider,
  type SingleAgentCallback,
} from './callbacks.ts';
import type { InvocationContext } from './invocation-context.ts';
import { noteStep } from './note-step.ts';

export interface BaseAgentConfig {
  name: string;
  /** One line for other agents and their models: what this one is for. */
  description?: string;
  subAgents?: BaseAgent[];
  beforeAgentCallback?: BeforeAgentCallback;
  afterAgentCallback?: AfterAgentCallback;
}

/** How often an agent may be told in an invocation that a limit is reached. */
const mostRefusals = 10;
export const baseAgentOptions: OptionNames<BaseAgentConfig> = {
  name: true,
  description: true,
  subAgents: true,
  beforeAgentCallback: true,
  afterAgentCallback: true,
};

/** Options of ADK's agents that do nothing here, with their replacements. */
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

/** An agent of any kind. Subclasses say in `runAsyncImpl` what it does; what it yields is committed before it goes on. */
export abstract class BaseAgent<C extends BaseAgentConfig = BaseAgentConfig> {
  /** The options that the agent was made with. */
  protected readonly config: C;
  readonly name: string;
  readonly subAgents: readonly BaseAgent[];
  readonly beforeAgentCallback: readonly SingleAgentCallback[];
  readonly afterAgentCallback: readonly SingleAgentCallback[];
  /** Runs the code that its model writes; LLM agents alone have one. */
  readonly codeExecutor: BaseCodeExecutor | undefined = undefined;
  /** The instruction for all agents of the tree, at its root; LLM agents alone have one. */
  readonly globalInstruction: string | InstructionProvider = '';
  readonly #description: string;
  #parent: BaseAgent | undefined;

  /** @throws MeshError `invalid_argument` for an option of ADK that does nothing here, a bad name, a name used twice in the tree, or a sub-agent that has a parent. */
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
    const twice = names.find((each, index) => names.indexOf(each) !== index);
    if (twice)
      throw new MeshError('invalid_argument', `two agents of one tree are called ${twice}; rename one`);
  }

  get description(): string {
    return this.#description;
  }

  /**
   * Makes another agent of the same class and the same configuration, with copies of its sub-agents and without a parent.
   *
   * @param overrides options that differ
   * @throws MeshError `invalid_argument` for an option that the class does not have
   */
  clone(overrides: Partial<C> = {}): this {
    const subAgents = this.subAgents.map((child) => child.clone());
    return Reflect.construct(this.constructor, [{ ...this.config, subAgents, ...overrides }]);
  }

  /** Does it run in another process? Then a transfer leaves this one. */
  get isRemote(): boolean {
    return false;
  }

  /**
   * Does it run its children itself, as workflows and agents with code of their own do? The runs of its children then have paths, by which
   * they are found in the journal. An LLM agent has none: it hands over.
   */
  get orchestrates(): boolean {
    return true;
  }

  /** Does it run code of the user's own, which may keep back or change what the agents below it say? The framework's own kinds do not. */
  get hasOwnCode(): boolean {
    return true;
  }

  get parentAgent(): BaseAgent | undefined {
    return this.#parent;
  }

  get rootAgent(): BaseAgent {
    return this.#parent?.rootAgent ?? this;
  }

  /** This agent and all below it. */
  *tree(): Generator<BaseAgent> {
    yield this;
    for (const child of this.subAgents) yield* child.tree();
  }

  /** This agent or one below it, by name. */
  findAgent(name: string): BaseAgent | undefined {
    for (const agent of this.tree()) if (agent.name === name) return agent;
    return undefined;
  }

  findSubAgent(name: string): BaseAgent | undefined {
    return this.subAgents.map((child) => child.findAgent(name)).find((found) => found !== undefined);
  }

  /**
   * Runs the agent in an invocation. Whoever iterates commits each event that is not partial before asking for the next. A run that had
   * ended before, as the journal tells, yields nothing.
   */
  async *runAsync(parent: InvocationContext): AsyncGenerator<Event, void, void> {
    const isChild = parent.agent !== this && parent.agent.orchestrates;
    const step = isChild ? parent.startRun(this.name) : this.orchestrates ? this.name : undefined;
    const path = [parent.path, step].filter((each) => each !== undefined).join('.') || undefined;
    const isUnderOwnCode = parent.isUnderOwnCode || this.hasOwnCode;
    const context = parent.with({ agent: this, path: path ?? parent.path, isUnderOwnCode });
    await breathe(context.abortSignal);
    if (isChild && isRunOver(context, parent.path)) return;
    for await (const event of this.#runWithCallbacks(context)) {
      if (path !== undefined) stampPath(event, path);
      event.author ||= this.name;
      // It belongs to the invocation that commits it, wherever the code took it from.
      if (event.invocationId !== context.invocationId) event.invocationId = context.invocationId;
      if (context.isUnderOwnCode && !event.partial) context.heard.addId(event.id);
      if (event.errorCode === overLimitCode) this.#assertEnds(context, event);
      yield event;
    }
  }

  /** Code around an agent that may ask no model any more runs it again and again: the run ends. */
  #assertEnds(context: InvocationContext, { author, errorMessage }: Event): void {
    if (author !== this.name && !this.isRemote) return;
    if (context.countRefusal(this.name) <= mostRefusals) return;
    throw new MeshError(
      'failed_precondition',
      `agent ${this.name} was told ${mostRefusals} times that ${errorMessage}, and is run again: end the loop that runs it`,
    );
  }

  async *#runWithCallbacks(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { start, events } = turnOf(context);
    const before = callbackEventId(context, start, 'before');
    // What the agent that handed over said last, in its callback, is none of this one's steps.
    if (!events.some(({ author }) => start?.author === 'user' || author !== start?.author)) {
      const event = await callAgentCallbacks('beforeAgentCallback', context, before);
      const isAnswered = Boolean(event?.content);
      if (event && isAnswered && context.isFiltered) noteStep(context, event, true);
      if (event) yield event;
      if (isAnswered) return;
    }
    const said = logIndex(context.session.events).get(before);
    if (said?.content || (said && stepMarkOf(said)?.ends)) return;
    if (context.endInvocation) return;
    yield* this.hasOwnCode ? this.#replay(context) : this.runAsyncImpl(context);
    if (context.endInvocation || (this.orchestrates && context.isPaused)) return;
    const after = callbackEventId(context, start, 'after');
    if (!isWaiting(context) && !logIndex(context.session.events).has(after)) {
      const event = await callAgentCallbacks('afterAgentCallback', context, after);
      if (event) yield event;
    }
    yield* this.handOver(context);
  }

  /** What comes behind the agent's own work, its callbacks included: the agent that it has handed the conversation to. */
  protected async *handOver(_context: InvocationContext): AsyncGenerator<Event, void, void> {}

  /**
   * Runs code of its own. After a crash or a pause it runs from the start again: what it said before, found by number, is not said again, as what
   * its children said is not, nor what the flow of an LLM agent with code of its own said.
   */
  async *#replay(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { path = `${this.name}/own`, invocationId, session } = context;
    const first = (this.orchestrates ? journalOf(context)[0]?.id : turnOf(context).start?.id) ?? invocationId;
    const passed = new Set<string>();
    let count = 0;
    for await (const each of this.runAsyncImpl(context)) {
      // Events of the log cannot be changed.
      const event = Object.isFrozen(each) ? { ...each } : each;
      event.author ||= this.name;
      const index = logIndex(session.events);
      const isOfLog = index.get(event.id)?.invocationId === invocationId;
      if (!event.partial && !context.heard.has(event.id) && !isOfLog) {
        const origin = context.heard.originOf(event);
        if (origin && !passed.has(origin.id) && !index.has(origin.id)) identify(event, origin);
        else {
          count += 1;
          this.#sign(context, event, `${first}/${path}/${count}`);
          if (index.has(event.id)) continue;
        }
      }
      passed.add(event.id);
      yield event;
    }
  }

  /** Gives an event that code of the agent's own made an identity, the same whenever the code runs again. */
  #sign(context: InvocationContext, event: Event, id: string): void {
    event.id = id;
    // A copy of what another agent said would count as that one's step.
    if (context.path !== undefined) event.nodeInfo = { path: context.path };
    if (!this.orchestrates && event.author === this.name) setStepMark(event, { isOwnCode: true });
  }

  /** ADK's way into live conversations, which its subclasses must define. Nothing calls it: there are none here. */
  protected runLiveImpl(_context: InvocationContext): AsyncGenerator<Event, void, void> {
    throw new MeshError(
      'failed_precondition',
      `agent ${this.name}: there are no live conversations; use runAsync`,
    );
  }

  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;
}

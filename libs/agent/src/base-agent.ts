import { assertName, type Event, MeshError } from '@agentmesh/protocol';
import type { InvocationContext } from './invocation-context.ts';

export interface BaseAgentConfig {
  name: string;
  /** One line for other agents and their models: what this one is for. */
  description?: string;
  subAgents?: BaseAgent[];
}

/** An agent of any kind. Subclasses say in `runAsyncImpl` what it does; what it yields is committed before it goes on. */
export abstract class BaseAgent {
  readonly name: string;
  readonly subAgents: readonly BaseAgent[];
  readonly #description: string;
  #parent: BaseAgent | undefined;

  /** @throws MeshError `invalid_argument` for a bad name, a name used twice in the tree, or a sub-agent that has a parent. */
  constructor({ name, description = '', subAgents = [] }: BaseAgentConfig) {
    this.name = assertName('agent', name);
    this.#description = description;
    this.subAgents = subAgents;
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

  /** Does it run in another process? Then a transfer leaves this one. */
  get isRemote(): boolean {
    return false;
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

  /** Runs the agent in an invocation. Whoever iterates commits each event that is not partial before asking for the next. */
  async *runAsync(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* this.runAsyncImpl(context.with({ agent: this }));
  }

  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;
}

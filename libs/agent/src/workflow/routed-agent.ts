import { assertOptions, type Event, type OptionNames } from '@agentmesh/protocol';
import {
  BaseAgent,
  type BaseAgentConfig,
  baseAgentOptions,
  runAgent,
  unsupportedAgentOptions,
  work,
} from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { stampPath } from '../events/agent-path.ts';
import { asGenerator, type Emit } from '../events/emit.ts';
import { createEvent } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { eventsOfRun } from '../journal/journal.ts';
import { describeFailure, endsInvocation } from '../models/http/model-failure.ts';
import { byKey, type Router, Routes } from '../models/routing.ts';

/** A function that selects the next agent, from the invocation and the failures so far. */
export type AgentRouter = Router<BaseAgent, InvocationContext>;

export interface RoutedAgentConfig extends Omit<BaseAgentConfig, 'subAgents'> {
  /** Agents by key. With a list, the keys are the agents' names. */
  agents: Readonly<Record<string, BaseAgent>> | readonly BaseAgent[];
  /** Default: all agents in order, each once. */
  router?: AgentRouter;
}

const { subAgents: _, ...ownOptions } = baseAgentOptions;
const options: OptionNames<RoutedAgentConfig> = { ...ownOptions, agents: true, router: true };
const unsupported = { ...unsupportedAgentOptions, subAgents: 'list them among the agents' };

/**
 * Runs one of several agents, selected by a router. When that agent fails before it has yielded any content
 * (it throws, or its event has an error, such as an unavailable model), the router selects another agent; an
 * agent that was tried does not run again. After the first content an error is final. A failed agent leaves
 * an error event in the log, so the agent that continues is known after a crash or a pause.
 */
export class RoutedAgent extends BaseAgent<RoutedAgentConfig> {
  readonly #routes: Routes<BaseAgent, InvocationContext>;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #all: Readonly<Record<string, BaseAgent>>;

  /** @throws MeshError `invalid_argument` for an unknown option, or without agents */
  constructor(config: RoutedAgentConfig) {
    const { agents, router } = config;
    const isOpen = new.target !== RoutedAgent;
    assertOptions(`agent ${config.name}`, config, options, { unsupported, isOpen });
    const all = byKey(agents, ({ name }) => name);
    super({ ...config, subAgents: Object.values(all) } as RoutedAgentConfig);
    this.#all = all;
    this.#keys = new Map(Object.entries(all).map(([key, { name }]) => [name, key]));
    this.#routes = new Routes(`routed agent ${this.name}`, all, router);
  }

  override clone(overrides: Partial<RoutedAgentConfig> = {}): this {
    const copies = Object.entries(this.#all).map(([key, agent]) => [key, agent.clone()]);
    return Reflect.construct(this.constructor, [
      { ...this.config, subAgents: undefined, agents: Object.fromEntries(copies), ...overrides },
    ]);
  }

  override get hasOwnCode(): boolean {
    return this.isReplaced(RoutedAgent);
  }

  /**
   * @throws the error of the agent that failed last; MeshError `invalid_argument` when the router selects an
   * agent that does not exist
   */
  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return asGenerator((emit) => this[work](context, emit));
  }

  protected override async [work](context: InvocationContext, emit: Emit<Event>): Promise<void> {
    const startedKeys = this.#startedKeys(context);
    const failedKeys = new Set<string>();
    let key = startedKeys.shift() ?? (await this.#routes.choose(context))?.key;
    for (;;) {
      const child = key === undefined ? undefined : this.#routes.get(key);
      if (key === undefined || !child) return;
      const failure = await this.#try(child, context, emit);
      if (!failure) return;
      failedKeys.add(key);
      const { thrown, lastError } = failure;
      key = startedKeys.shift() ?? (await this.#routes.choose(context, { failedKeys, lastError }))?.key;
      // When no agent continues, the error event is the answer. A thrown error is recorded in the log only
      // when another agent continues.
      if (thrown && key === undefined) throw lastError;
      if (thrown && !isFailureInLog(context, child)) await emit(failureEvent(context, child, lastError));
    }
  }

  /**
   * Returns the agents that this run has started, in order. The last agent continues; the agents before it
   * have failed.
   */
  #startedKeys(context: InvocationContext): string[] {
    const first = new Map<string, number>();
    for (const { name } of this.subAgents) {
      const [event] = eventsOfRun(context, name, 1);
      const key = this.#keys.get(name);
      if (event && key !== undefined)
        first.set(key, logIndex(context.session.events).positionOf(event.id) ?? 0);
    }
    return [...first].sort(([, a], [, b]) => a - b).map(([key]) => key);
  }

  /** Runs an agent and returns its failure; undefined when it has emitted content. */
  async #try(
    child: BaseAgent,
    context: InvocationContext,
    emit: Emit<Event>,
  ): Promise<{ lastError: unknown; thrown: boolean } | undefined> {
    let hasContent = false;
    let errorEvent = undefined as Event | undefined;
    try {
      await child[runAgent](context, (event) => {
        hasContent ||= hasParts(event);
        if (event.errorCode !== undefined) errorEvent = event;
        return emit(event);
      });
    } catch (lastError) {
      context.abortSignal?.throwIfAborted();
      // After a takeover by another delivery of the run, nothing may continue here.
      if (endsInvocation(lastError) || hasContent || eventsOfRun(context, child.name, 1).some(hasParts))
        throw lastError;
      return { lastError, thrown: true };
    }
    const events = eventsOfRun(context, child.name, 1);
    const failed = events.findLast(({ errorCode }) => errorCode !== undefined) ?? errorEvent;
    if (!failed || hasContent || events.some(hasParts)) return undefined;
    const lastError = new Error(failed.errorMessage ?? failed.errorCode, { cause: failed });
    return { lastError, thrown: false };
  }
}

function hasParts({ content }: Event): boolean {
  return (content?.parts?.length ?? 0) > 0;
}

function isFailureInLog(context: InvocationContext, { name }: BaseAgent): boolean {
  return eventsOfRun(context, name, 1).some(({ errorCode }) => errorCode !== undefined);
}

function failureEvent(
  { invocationId, branch, path }: InvocationContext,
  child: BaseAgent,
  error: unknown,
): Event {
  const event = createEvent({
    invocationId,
    author: child.name,
    ...(branch !== undefined && { branch }),
    ...describeFailure(error),
  });
  stampPath(event, [path, child.name].filter((each) => each !== undefined).join('.'));
  return event;
}

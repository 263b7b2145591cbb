import { assertOptions, type Event, MeshError, type OptionNames } from '@agentmesh/protocol';
import {
  BaseAgent,
  type BaseAgentConfig,
  baseAgentOptions,
  unsupportedAgentOptions,
} from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { stampPath } from '../events/agent-path.ts';
import { createEvent } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { eventsOfRun } from '../journal/journal.ts';
import { describeFailure } from '../models/model-failure.ts';
import { byKey, type Router, Routes } from '../models/routing.ts';

/** Which agent to run, seeing the invocation and what failed so far. */
export type AgentRouter = Router<BaseAgent, InvocationContext>;

export interface RoutedAgentConfig extends Omit<BaseAgentConfig, 'subAgents'> {
  /** Agents by key, or a list: the keys are then the agents' names. */
  agents: Readonly<Record<string, BaseAgent>> | readonly BaseAgent[];
  /** Default: in their order, each once. */
  router?: AgentRouter;
}

const { subAgents: _, ...ownOptions } = baseAgentOptions;
const options: OptionNames<RoutedAgentConfig> = { ...ownOptions, agents: true, router: true };
const unsupported = { ...unsupportedAgentOptions, subAgents: 'list them among the agents' };

/**
 * Runs one of several agents, which a router picks. When that one fails before it has said anything, by a throw or by an event with an error (a
 * model that cannot be had), the router is asked for another one; one that was tried is not run again. After the first word an error is an
 * error. What failed stays in the log as an error event; from there it is known, after a crash or a pause, which agent goes on.
 */
export class RoutedAgent extends BaseAgent<RoutedAgentConfig> {
  readonly #routes: Routes<BaseAgent, InvocationContext>;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #all: Readonly<Record<string, BaseAgent>>;

  /** @throws MeshError `invalid_argument` without agents, or for an unknown option */
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
    return this.runAsyncImpl !== RoutedAgent.prototype.runAsyncImpl;
  }

  /** @throws the error of the agent that failed last; MeshError `invalid_argument` when the router chooses what there is not */
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const begun = this.#begun(context);
    const failedKeys = new Set<string>();
    let key = begun.shift() ?? (await this.#routes.choose(context))?.key;
    for (;;) {
      context.abortSignal?.throwIfAborted();
      const child = key === undefined ? undefined : this.#routes.get(key);
      if (key === undefined || !child) return;
      const failure = yield* this.#try(child, context);
      if (!failure) return;
      failedKeys.add(key);
      const { thrown, lastError } = failure;
      key = begun.shift() ?? (await this.#routes.choose(context, { failedKeys, lastError }))?.key;
      // An error event is the answer when nobody goes on; what was thrown is told in the log only when somebody does.
      if (thrown && key === undefined) throw lastError;
      if (thrown && !isToldIn(context, child)) yield failureEvent(context, child, lastError);
    }
  }

  /** The agents that this run has begun with, in order: the last one goes on, those before it have failed. */
  #begun(context: InvocationContext): string[] {
    const first = new Map<string, number>();
    for (const { name } of this.subAgents) {
      const [event] = eventsOfRun(context, name, 1);
      const key = this.#keys.get(name);
      if (event && key !== undefined)
        first.set(key, logIndex(context.session.events).positionOf(event.id) ?? 0);
    }
    return [...first].sort(([, a], [, b]) => a - b).map(([key]) => key);
  }

  /** Runs an agent and tells how it failed; undefined when it has said something. */
  async *#try(
    child: BaseAgent,
    context: InvocationContext,
  ): AsyncGenerator<Event, { lastError: unknown; thrown: boolean } | undefined, void> {
    let heard = false;
    let told: Event | undefined;
    try {
      for await (const event of child.runAsync(context)) {
        heard ||= isSaid(event);
        if (event.errorCode !== undefined) told = event;
        yield event;
      }
    } catch (lastError) {
      context.abortSignal?.throwIfAborted();
      // Another delivery of the run has taken over: nobody may go on here.
      const isOver = lastError instanceof MeshError && lastError.code === 'aborted';
      if (isOver || heard || eventsOfRun(context, child.name, 1).some(isSaid)) throw lastError;
      return { lastError, thrown: true };
    }
    const events = eventsOfRun(context, child.name, 1);
    const failed = events.findLast(({ errorCode }) => errorCode !== undefined) ?? told;
    if (!failed || heard || events.some(isSaid)) return undefined;
    const lastError = new Error(failed.errorMessage ?? failed.errorCode, { cause: failed });
    return { lastError, thrown: false };
  }
}

function isSaid({ content }: Event): boolean {
  return (content?.parts?.length ?? 0) > 0;
}

function isToldIn(context: InvocationContext, { name }: BaseAgent): boolean {
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

import { assertOptions, type Event } from '@agentmesh/protocol';
import {
  BaseAgent,
  type BaseAgentConfig,
  baseAgentOptions,
  runAgent,
  unsupportedAgentOptions,
  work,
} from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { asGenerator, atOnce, type Emit } from '../events/emit.ts';

/**
 * Runs its sub-agents at the same time, each on a separate branch. They share the state but do not see each
 * other's events. Events arrive as they happen. When one agent throws, the other agents are stopped.
 */
export class ParallelAgent extends BaseAgent {
  /** @throws MeshError `invalid_argument` for an unknown option, and as {@link BaseAgent} */
  constructor(config: BaseAgentConfig) {
    super(config);
    assertOptions(`agent ${this.name}`, config, baseAgentOptions, {
      unsupported: unsupportedAgentOptions,
      isOpen: new.target !== ParallelAgent,
    });
  }

  override get hasOwnCode(): boolean {
    return this.isReplaced(ParallelAgent);
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return asGenerator((emit) => this[work](context, emit));
  }

  protected override async [work](context: InvocationContext, emit: Emit<Event>): Promise<void> {
    await atOnce<Event, void>(emit, (sent, failed) => {
      const abortSignal = context.abortSignal ? AbortSignal.any([context.abortSignal, failed]) : failed;
      return this.subAgents.map((child) => {
        const branch = [context.branch, this.name, child.name].filter((each) => each !== undefined).join('.');
        return child[runAgent](context.with({ branch, abortSignal }), sent);
      });
    });
  }
}

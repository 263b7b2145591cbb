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
import { asGenerator, type Emit } from '../events/emit.ts';

/**
 * Runs its sub-agents one after the other, in one session with one state. A pending long-running call of a
 * sub-agent pauses the sequence. The answer to the call continues that sub-agent, and then the sub-agents
 * behind it.
 */
export class SequentialAgent extends BaseAgent {
  /** @throws MeshError `invalid_argument` for an unknown option, and as {@link BaseAgent} */
  constructor(config: BaseAgentConfig) {
    super(config);
    assertOptions(`agent ${this.name}`, config, baseAgentOptions, {
      unsupported: unsupportedAgentOptions,
      isOpen: new.target !== SequentialAgent,
    });
  }

  override get hasOwnCode(): boolean {
    return this.isReplaced(SequentialAgent);
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return asGenerator((emit) => this[work](context, emit));
  }

  protected override async [work](context: InvocationContext, emit: Emit<Event>): Promise<void> {
    for (const child of this.subAgents) {
      await child[runAgent](context, emit);
      if (context.hasPaused(child)) return;
    }
  }
}

import { assertOptions, type Event, MeshError, type OptionNames } from '@agentmesh/protocol';
import {
  BaseAgent,
  type BaseAgentConfig,
  baseAgentOptions,
  runAgent,
  unsupportedAgentOptions,
  work,
} from '../base/base-agent.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { assertWanted } from '../events/breathe.ts';
import { asGenerator, type Emit } from '../events/emit.ts';
import { eventsOfRun } from '../journal/journal.ts';

export interface LoopAgentConfig extends BaseAgentConfig {
  /** Maximum number of rounds; default: until a sub-agent escalates. */
  maxIterations?: number;
}

const options: OptionNames<LoopAgentConfig> = { ...baseAgentOptions, maxIterations: true };

/**
 * Runs its sub-agents in order, again and again, until one of their events escalates (`ExitLoopTool`) or
 * `maxIterations` is reached. A pending long-running call pauses the loop; with its answer the loop continues
 * in the same round.
 */
export class LoopAgent extends BaseAgent<LoopAgentConfig> {
  readonly maxIterations: number;

  /** @throws MeshError `invalid_argument` for an unknown option, or a loop without sub-agents */
  constructor(config: LoopAgentConfig) {
    super(config);
    assertOptions(`agent ${this.name}`, config, options, {
      unsupported: unsupportedAgentOptions,
      isOpen: new.target !== LoopAgent,
    });
    this.maxIterations = config.maxIterations ?? Number.POSITIVE_INFINITY;
    if (this.subAgents.length === 0)
      throw new MeshError('invalid_argument', `loop ${this.name} has no sub-agents; give it one`);
  }

  override get hasOwnCode(): boolean {
    return this.isReplaced(LoopAgent);
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return asGenerator((emit) => this[work](context, emit));
  }

  protected override async [work](context: InvocationContext, emit: Emit<Event>): Promise<void> {
    for (let round = 1; round <= this.maxIterations; round += 1) {
      // Timers and signals must run even if the sub-agents neither wait nor yield anything.
      await new Promise((resolve) => setImmediate(resolve));
      assertWanted(context.abortSignal);
      for (const child of this.subAgents) {
        let escalated = false;
        await child[runAgent](context, (event) => {
          escalated ||= event.actions.escalate === true;
          return emit(event);
        });
        if (context.hasPaused(child)) return;
        // A run that had ended before a crash yields nothing again; its events are in the log.
        if (escalated || eventsOfRun(context, child.name, round).some(({ actions }) => actions.escalate))
          return;
      }
    }
  }
}

import type { BaseAgent, BaseContextCompactor, InvocationServices, PluginManager } from '@agentmesh/agent';
import type { Cancellations } from './cancellations.ts';
import type { Mesh } from './mesh.ts';
import type { FullShares } from './run-limits.ts';

/** The services of a served agent beside its session, and the plugins that watch it. */
export type AgentServices = InvocationServices & {
  pluginManager?: PluginManager;
  contextCompactors?: readonly BaseContextCompactor[];
};

/** The version in the card of an agent that tells none. */
export const unknownVersion = '0.0.0';

/** The data that the handlers of an agent need. */
export interface ServedAgent {
  readonly mesh: Mesh;
  readonly agent: BaseAgent;
  readonly app: string | undefined;
  /** The version of the agent's program; undefined when it is not known. */
  readonly version: string | undefined;
  readonly services: AgentServices;
  /** Aborted when the process stops and no longer waits for its work. */
  readonly stopping: AbortSignal;
  readonly cancellations: Cancellations;
  readonly fullShares: FullShares;
  /** Returns the shared scopes of state that a remote tool may write. */
  writesOf(tool: string): readonly ('user' | 'app')[];
}

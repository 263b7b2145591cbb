import type { BaseAgent, BaseContextCompactor, InvocationServices, PluginManager } from '@agentmesh/agent';
import type { Cancellations } from './cancellations.ts';
import type { Mesh } from './mesh.ts';

/** The services of a served agent beside its session, and the plugins that watch it. */
export type AgentServices = InvocationServices & {
  pluginManager?: PluginManager;
  contextCompactors?: readonly BaseContextCompactor[];
};

/** An agent as its handlers see it. */
export interface ServedAgent {
  readonly mesh: Mesh;
  readonly agent: BaseAgent;
  readonly app: string | undefined;
  readonly services: AgentServices;
  /** Aborted when the process stops and will not wait any longer. */
  readonly stopping: AbortSignal;
  readonly cancellations: Cancellations;
}

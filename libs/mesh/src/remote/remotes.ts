import { AgentTool, type BaseAgent, LlmAgent } from '@agentmesh/agent';
import type { Mesh } from '../mesh/mesh.ts';
import type { SharedScope } from '../messages/tool-actions.ts';
import { MeshToolset, matchesAny } from './mesh-toolset.ts';
import { RemoteAgent } from './remote-agent.ts';
import { RemoteTool } from './remote-tool.ts';

/** The remote parts that an agent and all agents below it use. */
export interface Remotes {
  /** Agents to which the agent may transfer. */
  transfers: RemoteAgent[];
  /** Agents that the agent asks as tools. */
  asks: RemoteAgent[];
  tools: RemoteTool[];
  toolsets: MeshToolset[];
}

/**
 * Finds every remote agent and tool in a tree, including agents that are used as tools and their own remotes.
 */
export function remotesOf(agent: BaseAgent): Remotes {
  const remotes: Remotes = { transfers: [], asks: [], tools: [], toolsets: [] };
  for (const each of agent.tree()) {
    if (each instanceof RemoteAgent) remotes.transfers.push(each);
    if (!(each instanceof LlmAgent)) continue;
    for (const tool of each.tools) {
      if (tool instanceof RemoteTool) remotes.tools.push(tool);
      else if (tool instanceof MeshToolset) remotes.toolsets.push(tool);
      else if (tool instanceof AgentTool && tool.agent instanceof RemoteAgent) remotes.asks.push(tool.agent);
      else if (tool instanceof AgentTool) {
        const inner = remotesOf(tool.agent);
        // An agent that is used as a tool hands over to remote agents by asking them.
        remotes.asks.push(...inner.asks, ...inner.transfers);
        remotes.tools.push(...inner.tools);
        remotes.toolsets.push(...inner.toolsets);
      }
    }
  }
  return remotes;
}

/** Connects every remote agent and tool of a tree; `serveAgent` calls it. */
export function bindRemotes(agent: BaseAgent, mesh: Mesh): Remotes {
  const remotes = remotesOf(agent);
  const { transfers, asks, tools, toolsets } = remotes;
  for (const each of [...transfers, ...asks, ...tools, ...toolsets]) each.mesh.set(mesh);
  return remotes;
}

/** Returns the shared scopes of state that a tree lets a tool write. */
export function writesOf({ tools, toolsets }: Remotes, tool: string): SharedScope[] {
  return [
    ...tools.filter(({ name }) => name === tool),
    ...toolsets.filter(({ names }) => matchesAny(names, tool)),
  ].flatMap(({ writes }) => writes);
}

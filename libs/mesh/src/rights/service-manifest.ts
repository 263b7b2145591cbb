import { AgentTool, App, type BaseAgent, BaseTool, LlmAgent } from '@agentmesh/agent';
import type { ServiceKind } from '@agentmesh/protocol';
import { clientService, gatewayService, serviceName } from '../mesh/service-name.ts';
import { remotesOf } from '../remote/remotes.ts';

/** The facts about a service on which its rights on the bus and in Redis depend. */
export interface ServiceManifest {
  kind: ServiceKind | 'gateway' | 'client' | 'operator';
  name: string;
  /** The description of an agent, which other services show to their models. */
  description?: string;
  /** The instruction of an agent for all agents below it, when it is a text. */
  globalInstruction?: string;
  /** Agents to which the service transfers. */
  transfers: string[];
  /** Agents that the service asks. */
  asks: string[];
  /** Tools that the service calls. */
  calls: string[];
  /** Patterns of tools that the service calls when they are up (`MeshToolset`). */
  offers?: string[];
  /** True for a tool with jobs, which publishes updates to its callers. */
  longRunning?: boolean;
  /** The app whose root agent the service is. */
  app?: string;
  /** True for a tool that uses the memories of users. */
  usesMemory?: boolean;
  /** The keys of the credentials that the service uses. */
  credentialKeys?: string[];
}

/**
 * Returns the manifest of an agent: its remote sub-agents, agents used as tools, and tools. The root agent of
 * an app needs the app, because only then its service may use the app's sessions.
 */
export function agentManifest(definition: BaseAgent | App): ServiceManifest {
  const agent = definition instanceof App ? definition.rootAgent : definition;
  const { transfers, asks, tools, toolsets } = remotesOf(agent);
  const names = (each: readonly { name: string }[]) => [...new Set(each.map(({ name }) => name))];
  return {
    kind: 'agent',
    name: agent.name,
    ...(agent.description !== '' && { description: agent.description }),
    ...instructionOf(agent),
    transfers: names(transfers),
    asks: names(asks),
    calls: names(tools),
    offers: [...new Set(toolsets.flatMap((toolset) => toolset.names))],
    ...(definition instanceof App && { app: definition.name }),
    credentialKeys: [...new Set(localTools(agent).flatMap((tool) => tool.credentialKeys))],
  };
}

/** Returns the tools that run in the process of an agent, also those of agents that are used as tools. */
function localTools(agent: BaseAgent): BaseTool[] {
  const tools = [...agent.tree()].flatMap((each) => (each instanceof LlmAgent ? each.tools : []));
  return tools.flatMap((tool) => {
    if (tool instanceof AgentTool) return [tool, ...localTools(tool.agent)];
    return tool instanceof BaseTool ? [tool] : [];
  });
}

export function toolManifest({
  name,
  isLongRunning: longRunning,
  usesMemory,
  credentialKeys,
}: BaseTool): ServiceManifest {
  return {
    ...{ kind: 'tool', name, transfers: [], asks: [], calls: [], longRunning },
    usesMemory,
    credentialKeys: [...credentialKeys],
  };
}

function instructionOf({ globalInstruction }: BaseAgent): Pick<ServiceManifest, 'globalInstruction'> {
  return typeof globalInstruction === 'string' && globalInstruction !== '' ? { globalInstruction } : {};
}

/** The gateway sends messages to any agent and watches any invocation. */
export const gatewayManifest: ServiceManifest = {
  kind: 'gateway',
  name: gatewayService,
  transfers: ['*'],
  asks: [],
  calls: [],
};

/** Any other program that asks agents, gives them runs, and listens to sessions. */
export const clientManifest: ServiceManifest = {
  kind: 'client',
  name: clientService,
  transfers: ['*'],
  asks: ['*'],
  calls: [],
};

/** The operator's commands and the provisioning step. */
export const operatorManifest: ServiceManifest = {
  kind: 'operator',
  name: 'operator',
  transfers: [],
  asks: [],
  calls: [],
};

/** Returns the name of a service on the bus: the name of its NATS user and of its inboxes. */
export function busName({ kind, name }: Pick<ServiceManifest, 'kind' | 'name'>): string {
  return kind === 'agent' || kind === 'tool' ? serviceName(kind, name) : name;
}

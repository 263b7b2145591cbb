import type { BaseAgent, BaseTool } from '@agentmesh/agent';
import type { ServiceKind } from '@agentmesh/protocol';
import { clientService, gatewayService, serviceName } from '../mesh/service-name.ts';
import { remotesOf } from '../remote/remotes.ts';

/** The facts about a service on which its rights on the bus depend. */
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
}

/** Returns the manifest of an agent: its remote sub-agents, agents used as tools, and tools. */
export function agentManifest(agent: BaseAgent): ServiceManifest {
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
  };
}

export function toolManifest({ name, isLongRunning: longRunning }: BaseTool): ServiceManifest {
  return { kind: 'tool', name, transfers: [], asks: [], calls: [], longRunning };
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

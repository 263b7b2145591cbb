import { AgentTool, App, type BaseAgent, BaseTool, LlmAgent } from '@agentmesh/agent';
import type { ServiceKind } from '@agentmesh/protocol';
import { clientService, gatewayService, keeperService, serviceName } from '../mesh/service-name.ts';
import { remotesOf } from '../remote/remotes.ts';

/** The facts about a service on which its rights on the bus and in Redis depend. */
export interface ServiceManifest {
  kind: ServiceKind | 'publisher' | 'gateway' | 'keeper' | 'client' | 'operator';
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
  /** True for an agent or a tool that uses files of sessions and users. */
  usesArtifacts?: boolean;
  /** The keys of the credentials that the service uses. */
  credentialKeys?: string[];
  /** True for a publisher that hears the committed events of all sessions. */
  listens?: boolean;
  /** True for a service that `agentmesh join` added. */
  joined?: boolean;
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
    usesArtifacts: usesArtifacts(agent),
    credentialKeys: [...new Set(localTools(agent).flatMap((tool) => tool.credentialKeys))],
  };
}

/** Tells whether the process of an agent or a tool uses files: a tool in it, or an agent in it. */
export function usesArtifacts(definition: BaseAgent | BaseTool): boolean {
  if (definition instanceof BaseTool) return definition.usesArtifacts;
  const agents = localAgents(definition);
  return (
    agents.some(namesArtifact) || [...agents, ...localTools(definition)].some((each) => each.usesArtifacts)
  );
}

/** Tells whether an instruction of an agent names a file. */
function namesArtifact(agent: BaseAgent): boolean {
  const texts = agent instanceof LlmAgent ? [agent.instruction, agent.globalInstruction] : [];
  return texts.some((text) => typeof text === 'string' && text.includes('{artifact.'));
}

/** Returns the tools that run in the process of an agent, also those of agents that are used as tools. */
function localTools(agent: BaseAgent): BaseTool[] {
  return localAgents(agent).flatMap(toolsOf);
}

/** Returns the agents that run in the process of an agent, also those that are used as tools. */
function localAgents(agent: BaseAgent): BaseAgent[] {
  return [...agent.tree()].flatMap((each) => [
    each,
    ...toolsOf(each).flatMap((tool) => (tool instanceof AgentTool ? localAgents(tool.agent) : [])),
  ]);
}

function toolsOf(agent: BaseAgent): BaseTool[] {
  return agent instanceof LlmAgent ? agent.tools.filter((tool) => tool instanceof BaseTool) : [];
}

export function toolManifest({
  name,
  isLongRunning: longRunning,
  usesMemory,
  usesArtifacts,
  credentialKeys,
}: BaseTool): ServiceManifest {
  return {
    ...{ kind: 'tool', name, transfers: [], asks: [], calls: [], longRunning },
    usesMemory,
    usesArtifacts,
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

/**
 * The keeper gives agents and tools the files and credentials of their work; it has all rights on the files, and
 * the key of the credentials.
 */
export const keeperManifest: ServiceManifest = {
  kind: 'keeper',
  name: keeperService,
  transfers: [],
  asks: [],
  calls: [],
};

/** Tells whether a mesh with these services needs a keeper: one of them uses files or credentials. */
export function hasKeeper(services: readonly ServiceManifest[]): boolean {
  return services.some((each) => each.usesArtifacts || usesCredentials(each));
}

/** Tells whether the definition of a service names credentials. */
export function usesCredentials({ credentialKeys = [] }: ServiceManifest): boolean {
  return credentialKeys.length > 0;
}

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
  if (kind === 'publisher') return `publisher_${name}`;
  return kind === 'agent' || kind === 'tool' ? serviceName(kind, name) : name;
}

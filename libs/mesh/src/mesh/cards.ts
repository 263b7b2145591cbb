import type { AgentCard, ToolCard } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** Returns the card of an agent; undefined if the mesh does not know it. */
export function agentCard({ bus }: Mesh, name: string): AgentCard | undefined {
  const card = bus.directory.get('agent', name);
  return card?.kind === 'agent' ? card : undefined;
}

/** Returns the card of a tool; undefined if the mesh does not know it. */
export function toolCard({ bus }: Mesh, name: string): ToolCard | undefined {
  const card = bus.directory.get('tool', name);
  return card?.kind === 'tool' ? card : undefined;
}

/** Returns the cards of all agents. */
export function agentCards({ bus }: Mesh): AgentCard[] {
  return bus.directory.list('agent').filter((card) => card.kind === 'agent');
}

/** Returns the cards of all tools. */
export function toolCards({ bus }: Mesh): ToolCard[] {
  return bus.directory.list('tool').filter((card) => card.kind === 'tool');
}

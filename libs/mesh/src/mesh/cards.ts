import { type AgentCard, MeshError, type ToolCard } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/**
 * Waits until this process has read the cards: at a start while NATS gives no answer it knows nobody, and would take
 * each agent for an absent one.
 *
 * @param ms the longest wait, in ms
 * @throws MeshError `unavailable` after it
 */
export async function untilCardsAreRead({ bus }: Pick<Mesh, 'bus'>, ms = 5_000): Promise<void> {
  if (bus.directory.isRead || (await bus.directory.waitUntilRead(ms))) return;
  throw new MeshError('unavailable', 'NATS does not give the cards of the mesh; try again later');
}

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

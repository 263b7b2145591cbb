import { agentCards, type Mesh, rootOf } from '@agentmesh/mesh';
import type { AgentCard } from '@agentmesh/protocol';

/**
 * Returns the cards of the agents that can be reached from the root agent of an app, the root first: its
 * sub-agents, the agents that it uses as tools, and theirs. An agent without a card is left out.
 *
 * @throws MeshError `not_found` for an unknown app
 */
export async function agentsOfApp(mesh: Mesh, app: string): Promise<AgentCard[]> {
  const cards = new Map(agentCards(mesh).map((card) => [card.name, card]));
  // The set grows while it is read: each agent is visited once, even if agents refer to each other.
  const found = new Set([await rootOf(mesh, app)]);
  for (const { subAgents, tools } of found) {
    for (const name of [...subAgents, ...tools]) {
      const card = cards.get(name);
      if (card) found.add(card);
    }
  }
  return [...found];
}

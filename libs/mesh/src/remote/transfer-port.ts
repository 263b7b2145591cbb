import type { TransferPort, TransferTarget } from '@agentmesh/agent';
import type { AgentCard } from '@agentmesh/protocol';
import { agentCard, agentCards } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { remoteAgent } from './remote-agent.ts';

/**
 * Returns the port through which agents of this process hand over to agents elsewhere: to agents whose cards
 * name this agent as a sub-agent (its parents on the mesh), and to the other sub-agents of its parents. On
 * the mesh a parent is known by its card, not by an object.
 */
export function transferPort(
  served: Pick<ServedAgent, 'mesh' | 'agent'>,
  handOver?: (agent: string) => void,
): TransferPort {
  const { mesh, agent: root } = served;
  return {
    ...(handOver && { handOver }),
    remote(name) {
      const agent = remoteAgent(name);
      agent.mesh.set(mesh);
      return agent;
    },
    parent: (name) => (name === root.name ? parentsOf(mesh, name)[0]?.name : undefined),
    knows(name) {
      const isKnown = agentCard(mesh, name) !== undefined;
      if (!isKnown)
        mesh.log.warn({ agent: root.name, to: name }, 'a transfer failed: no such agent is known');
      return isKnown;
    },
    reaches: (name) => treeOf(agentCards(mesh), root.name).has(name),
    globalInstruction(appName) {
      const cards = agentCards(mesh);
      const top = cards.find(({ app }) => app === appName);
      return top && allBelow(cards, top.name).has(root.name) ? (top.globalInstruction ?? '') : '';
    },
    targets(name): TransferTarget[] {
      const card = agentCard(mesh, name);
      // Only the served agent has parents on the mesh; the agents below it have their parents in this
      // process.
      if (!card || name !== root.name) return [];
      const parents = parentsOf(mesh, name);
      const up = card.disallowTransferToParent ? [] : parents;
      const peerNames = card.disallowTransferToPeers ? [] : parents.flatMap(({ subAgents }) => subAgents);
      const peers = peerNames.flatMap((peer) => (peer === name ? [] : (agentCard(mesh, peer) ?? [])));
      const targets = new Map([...up, ...peers].map((card) => [card.name, card.description]));
      return [...targets].map(([target, description]) => ({ name: target, description }));
    },
  };
}

function parentsOf(mesh: ServedAgent['mesh'], name: string): AgentCard[] {
  return agentCards(mesh).filter(({ llm, subAgents }) => llm && subAgents.includes(name));
}

type Relations = Pick<AgentCard, 'name' | 'subAgents'>;

/**
 * Returns the names of all agents that are connected to an agent by sub-agent relations in either direction,
 * including the agent itself.
 */
export function treeOf(cards: readonly Relations[], name: string): Set<string> {
  const tree = new Set([name]);
  for (const each of tree) {
    for (const card of cards) {
      if (card.name === each) for (const child of card.subAgents) tree.add(child);
      else if (card.subAgents.includes(each)) tree.add(card.name);
    }
  }
  return tree;
}

/**
 * Returns the agents that may have a session of an app: the trees of the agents that serve the app, and of the
 * agent without an app whose name the app has.
 */
export function agentsOf(mesh: Mesh, app: string): Set<string> {
  const cards = agentCards(mesh);
  const roots = cards.filter((card) => (card.app ?? card.name) === app);
  return new Set(roots.flatMap(({ name }) => [...treeOf(cards, name)]));
}

/** Returns the names of all agents below an agent. */
function allBelow(cards: readonly Relations[], name: string): Set<string> {
  const childrenOf = (parent: string) => cards.find((card) => card.name === parent)?.subAgents ?? [];
  const names = new Set(childrenOf(name));
  for (const each of names) for (const child of childrenOf(each)) names.add(child);
  return names;
}

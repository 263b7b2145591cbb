import type { TransferPort, TransferTarget } from '@agentmesh/agent';
import { agentCard, agentCards } from './mesh.ts';
import { remoteAgent } from './remote-agent.ts';
import type { ServedAgent } from './serve-agent.ts';

/**
 * Whom the agents of this process may hand over to elsewhere: agents whose cards name this one as a sub-agent (its parents on the mesh), and the
 * other sub-agents of these. On the mesh a parent is known by its card, not by an object.
 */
export function transferPort(served: ServedAgent, handOver?: (agent: string) => void): TransferPort {
  const { mesh, agent: root } = served;
  return {
    ...(handOver && { handOver }),
    remote(name) {
      const agent = remoteAgent(name);
      agent.mesh.set(mesh);
      return agent;
    },
    knows: (name) => agentCard(mesh, name) !== undefined,
    targets(name): TransferTarget[] {
      const own = agentCard(mesh, name);
      // Only the agent that the mesh knows has parents there; those below it have theirs in this process.
      if (!own || name !== root.name) return [];
      const parents = agentCards(mesh).filter(({ llm, subAgents }) => llm && subAgents.includes(name));
      const up = own.disallowTransferToParent ? [] : parents;
      const peerNames = own.disallowTransferToPeers ? [] : parents.flatMap(({ subAgents }) => subAgents);
      const peers = peerNames.flatMap((peer) => (peer === name ? [] : (agentCard(mesh, peer) ?? [])));
      const targets = new Map([...up, ...peers].map((card) => [card.name, card.description]));
      return [...targets].map(([target, description]) => ({ name: target, description }));
    },
  };
}

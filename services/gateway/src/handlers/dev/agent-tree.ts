import type { AgentCard } from '@agentmesh/protocol';

/** An agent or a tool of an app, with the keys that ADK's web UI reads. */
export interface TreeNode {
  name: string;
  type: 'agent' | 'tool';
  description?: string;
  tools?: { name: string; type: 'agent' | 'tool' }[];
  sub_agents?: TreeNode[];
}

/**
 * Returns the agents below a root agent as a tree. An agent that several agents name has its children at the
 * first place only, so that agents which name each other end.
 */
export function agentTree(root: AgentCard, cards: readonly AgentCard[]): TreeNode {
  const cardOf = new Map(cards.map((card) => [card.name, card]));
  const expanded = new Set<string>();
  const nodeOf = (name: string): TreeNode => {
    const { description = '', subAgents = [], tools = [] } = cardOf.get(name) ?? {};
    const isFirst = !expanded.has(name);
    expanded.add(name);
    return {
      ...{ name, type: 'agent' },
      ...(description !== '' && { description }),
      ...(isFirst &&
        tools.length > 0 && { tools: tools.map((tool) => ({ name: tool, type: typeOf(tool) })) }),
      ...(isFirst && subAgents.length > 0 && { sub_agents: subAgents.map(nodeOf) }),
    };
  };
  const typeOf = (tool: string) => (cardOf.has(tool) ? 'agent' : 'tool');
  return nodeOf(root.name);
}

/**
 * Finds a node by its path below the root, for example `billing/refunds`. The path may begin with the root.
 * Returns undefined for an unknown path.
 */
export function nodeAt(root: TreeNode, path: string): TreeNode | undefined {
  const names = path.split('/').filter((name) => name !== '');
  if (names[0] === root.name) names.shift();
  let node: TreeNode | undefined = root;
  for (const name of names) node = node?.sub_agents?.find((each) => each.name === name);
  return node;
}

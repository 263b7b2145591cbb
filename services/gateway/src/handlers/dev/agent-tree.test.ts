import { type AgentCard, agentCardSchema } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { agentTree, nodeAt } from './agent-tree.ts';
import { structureGraph } from './structure-graph.ts';

const card = (name: string, more: Partial<AgentCard> = {}): AgentCard =>
  agentCardSchema.parse({ kind: 'agent', name, ...more });
const root = card('root', { subAgents: ['billing', 'absent'], tools: ['search', 'expert'] });
const cards = [
  root,
  card('billing', { description: 'Bills.', subAgents: ['root', 'refunds'], tools: ['pay'] }),
  card('refunds', { subAgents: ['billing'] }),
  card('expert'),
];

it('expands each agent once, even if agents name each other', () => {
  expect(agentTree(root, cards)).toEqual({
    ...{ name: 'root', type: 'agent' },
    tools: [
      { name: 'search', type: 'tool' },
      { name: 'expert', type: 'agent' },
    ],
    sub_agents: [
      {
        ...{ name: 'billing', type: 'agent', description: 'Bills.' },
        tools: [{ name: 'pay', type: 'tool' }],
        sub_agents: [
          { name: 'root', type: 'agent' },
          {
            ...{ name: 'refunds', type: 'agent' },
            sub_agents: [{ name: 'billing', type: 'agent', description: 'Bills.' }],
          },
        ],
      },
      { name: 'absent', type: 'agent' },
    ],
  });
});

it('finds an agent by its path, with or without the root', () => {
  const tree = agentTree(root, cards);
  expect(nodeAt(tree, '')).toBe(tree);
  expect(nodeAt(tree, 'billing/refunds')?.name).toBe('refunds');
  expect(nodeAt(tree, 'root/billing/')?.name).toBe('billing');
  expect(nodeAt(tree, 'billing/nobody')).toBeUndefined();
});

it('draws each agent, tool and edge once, in colours for a light and a dark page', () => {
  const draw = (darkMode: boolean) => structureGraph(agentTree(root, cards), { darkMode });
  const lines = draw(false)
    .split('\n')
    .map((line) => line.trim());
  const edges = lines.filter((line) => line.includes('->'));
  expect(edges).toEqual([
    '"root" -> "search" [style="dashed"];',
    '"root" -> "expert" [style="dashed"];',
    '"root" -> "billing";',
    '"billing" -> "pay" [style="dashed"];',
    '"billing" -> "root";',
    '"billing" -> "refunds";',
    '"refunds" -> "billing";',
    '"root" -> "absent";',
  ]);
  expect(lines.filter((line) => line.includes('label="🤖'))).toHaveLength(5);
  expect(lines.filter((line) => line.includes('label="🔧'))).toHaveLength(2);
  expect(draw(false)).toContain('fontcolor="#202124"');
  expect(draw(true)).toContain('fontcolor="#e8eaed"');
});

import { attributes, quote } from '../events/dot.ts';
import type { TreeNode } from './agent-tree.ts';

const light = { fill: '#f1f3f4', line: '#5f6368', text: '#202124' };
const dark = { fill: '#333537', line: '#9aa0a6', text: '#e8eaed' };

/**
 * Draws the agents and tools of a tree in Graphviz' language. The nodes have the names of the agents and
 * tools: by these, ADK's web UI finds the parts of an event in the drawing.
 */
export function structureGraph(tree: TreeNode, { darkMode }: { darkMode: boolean }): string {
  const color = darkMode ? dark : light;
  const nodes = new Map<string, 'agent' | 'tool'>();
  const edges = new Set<string>();
  const visit = ({ name, type, tools = [], sub_agents: subAgents = [] }: TreeNode) => {
    nodes.set(name, type);
    for (const tool of tools) {
      nodes.set(tool.name, nodes.get(tool.name) ?? tool.type);
      edges.add(`${quote(name)} -> ${quote(tool.name)} [style="dashed"];`);
    }
    for (const subAgent of subAgents) {
      edges.add(`${quote(name)} -> ${quote(subAgent.name)};`);
      visit(subAgent);
    }
  };
  visit(tree);
  const node = { style: 'filled,rounded', fillcolor: color.fill, color: color.line, fontcolor: color.text };
  return [
    `digraph ${quote(tree.name)} {`,
    // ADK's web UI shows the drawing for light pages on dark pages too.
    '  bgcolor="transparent"; rankdir="TB"; fontname="Helvetica";',
    `  node [${attributes({ ...node, shape: 'box', fontname: 'Helvetica', fontsize: '12' })}];`,
    `  edge [${attributes({ color: color.line, arrowsize: '0.7' })}];`,
    ...[...nodes].map(([name, type]) => `  ${quote(name)} [${attributes(lookOf(name, type))}];`),
    ...[...edges].map((edge) => `  ${edge}`),
    '}',
    '',
  ].join('\n');
}

function lookOf(name: string, type: 'agent' | 'tool'): Record<string, string> {
  return type === 'agent'
    ? { label: `🤖 ${name}`, tooltip: 'agent' }
    : { label: `🔧 ${name}`, tooltip: 'tool' };
}

import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import type { AgentCard, Event } from '@agentmesh/protocol';
import { attributes, quote } from './dot.ts';

const colors = { background: '#333537', plain: '#cccccc', lit: '#0F5223', litEdge: '#69CB87' };

/**
 * An edge from an agent to an agent or tool that it calls or hands over to; `back` when the event is an
 * answer.
 */
interface Step {
  from: string;
  to: string;
  back: boolean;
}

/**
 * Draws the agents and tools that can be reached from an agent, by the cards, in Graphviz' language. The
 * parts of the event have another colour: its author, and the call, answer or transfer. Parts that only the
 * event knows are drawn too, for example a tool of a toolset.
 */
export function agentGraph(root: AgentCard, cards: readonly AgentCard[], event: Event): string {
  const cardByName = new Map(cards.map((card) => [card.name, card]));
  const agents = new Set<string>();
  const edges = new Map<string, Step>();
  const connect = (step: Step) => edges.set(JSON.stringify([step.from, step.to]), step);
  // The set grows while it is read: each agent is visited once, even if agents refer to each other.
  agents.add(root.name);
  for (const name of agents) {
    const { subAgents = [], tools = [] } = cardByName.get(name) ?? {};
    for (const to of [...subAgents, ...tools]) connect({ from: name, to, back: false });
    for (const to of [...subAgents, ...tools.filter((tool) => cardByName.has(tool))]) agents.add(to);
  }
  const steps = stepsOf(event);
  const lit = new Set(steps.flatMap(({ from, to }) => [from, to]));
  if (event.author !== undefined && event.author !== 'user') {
    lit.add(event.author);
    agents.add(event.author);
  }
  const litEdges = new Map(steps.map((step) => [JSON.stringify([step.from, step.to]), step]));
  for (const step of steps) connect(step);
  const nodes = new Set([...agents, ...[...edges.values()].map(({ to }) => to), ...lit]);
  return [
    `strict digraph ${quote(root.name)} {`,
    `  rankdir=LR; bgcolor=${quote(colors.background)};`,
    ...[...nodes].map((name) => `  ${node(name, { isAgent: agents.has(name), isLit: lit.has(name) })}`),
    ...[...edges].map(([key, step]) => `  ${edge(step, litEdges.get(key))}`),
    '}',
    '',
  ].join('\n');
}

/**
 * Returns the lines of the graph between the author of an event and other agents or tools. An answer of a
 * person is drawn only at the call that it answers.
 */
function stepsOf(event: Event): Step[] {
  const { author: from, actions } = event;
  if (from === undefined || from === 'user') return [];
  const calls = getFunctionCalls(event).map(({ name = '', args }) => {
    const target = name === 'transfer_to_agent' ? (args?.agentName ?? args?.agent_name) : undefined;
    return { from, to: typeof target === 'string' ? target : name, back: false };
  });
  const answers = getFunctionResponses(event).map(({ name = '' }) => {
    const target = name === 'transfer_to_agent' ? actions.transferToAgent : undefined;
    return { from, to: target ?? name, back: target === undefined };
  });
  return [...calls, ...answers];
}

function node(name: string, { isAgent, isLit }: { isAgent: boolean; isLit: boolean }): string {
  const color = isLit ? colors.lit : colors.plain;
  return `${quote(name)} [${attributes({
    label: `${isAgent ? '🤖' : '🔧'} ${name}`,
    shape: isAgent ? 'ellipse' : 'box',
    style: isLit ? 'filled,rounded' : 'rounded',
    fillcolor: color,
    color,
    fontcolor: colors.plain,
  })}];`;
}

function edge({ from, to }: Step, lit: Step | undefined): string {
  const look: Record<string, string> = lit
    ? { color: colors.litEdge, ...(lit.back && { dir: 'back' }) }
    : { color: colors.plain, arrowhead: 'none' };
  return `${quote(from)} -> ${quote(to)} [${attributes(look)}];`;
}

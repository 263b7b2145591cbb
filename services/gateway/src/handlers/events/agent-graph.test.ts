import { createEvent } from '@agentmesh/agent';
import { type AgentCard, agentCardSchema, type Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { agentGraph } from './agent-graph.ts';

const card = (name: string, more: Partial<AgentCard> = {}): AgentCard =>
  agentCardSchema.parse({ kind: 'agent', name, ...more });

const root = card('root', { subAgents: ['billing'], tools: ['search', 'expert'] });
const cards = [
  root,
  card('billing', { subAgents: ['root'], tools: ['refund'] }),
  card('expert', { tools: ['think'] }),
  card('stranger'),
];

type Parts = NonNullable<NonNullable<Event['content']>['parts']>;
const said = (author: string, ...parts: Parts) => createEvent({ author, content: { role: 'model', parts } });
const graphOf = (event = said('nobody')) => agentGraph(root, cards, event).split('\n');
const lines = (dot: string[], part: string) => dot.filter((line) => line.includes(part));
const lit = (dot: string[]) => lines(dot, 'filled').map((line) => /^ {2}"([^"]+)"/.exec(line)?.[1]);
const litEdges = (dot: string[]) =>
  lines(dot, '#69CB87').map((line) => /^ {2}"(.+)" -> "(.+)" \[/.exec(line)?.slice(1));

describe('the graph of an app', () => {
  it('contains each agent and tool that can be reached from its root once, and no others', () => {
    const dot = graphOf(createEvent({ author: 'user' }));
    expect(dot[0]).toBe('strict digraph "root" {');
    expect(lines(dot, '🤖').map((line) => /🤖 (\w+)/.exec(line)?.[1])).toEqual(['root', 'billing', 'expert']);
    expect(lines(dot, '🔧').map((line) => /🔧 (\w+)/.exec(line)?.[1])).toEqual(['search', 'refund', 'think']);
    expect(lines(dot, '->').map((line) => line.trim().split(' [')[0])).toEqual([
      '"root" -> "billing"',
      '"root" -> "search"',
      '"root" -> "expert"',
      '"billing" -> "root"',
      '"billing" -> "refund"',
      '"expert" -> "think"',
    ]);
    expect(lit(dot)).toEqual([]);
  });

  it.each<[string, ReturnType<typeof said>, string[], string[][], boolean]>([
    ['words', said('billing', { text: 'hi' }), ['billing'], [], false],
    [
      'a call',
      said('root', { functionCall: { name: 'search' } }),
      ['root', 'search'],
      [['root', 'search']],
      false,
    ],
    [
      'an answer',
      said('root', { functionResponse: { name: 'expert' } }),
      ['root', 'expert'],
      [['root', 'expert']],
      true,
    ],
    [
      'a transfer',
      said('root', { functionCall: { name: 'transfer_to_agent', args: { agentName: 'billing' } } }),
      ['root', 'billing'],
      [['root', 'billing']],
      false,
    ],
    [
      'a call of a tool without a card',
      said('expert', { functionCall: { name: 'from_toolset' } }),
      ['expert', 'from_toolset'],
      [['expert', 'from_toolset']],
      false,
    ],
    ['an agent without a card', said('inner', { text: 'hi' }), ['inner'], [], false],
  ])('shows %s', (_what, event, nodes, edges, back) => {
    const dot = graphOf(event);
    expect(lit(dot)).toEqual(nodes);
    expect(litEdges(dot)).toEqual(edges);
    expect(lines(dot, 'dir="back"')).toHaveLength(back ? 1 : 0);
  });

  it('takes a transfer that was accepted as one', () => {
    const event = createEvent({
      author: 'root',
      content: { parts: [{ functionResponse: { name: 'transfer_to_agent', response: {} } }] },
      actions: { transferToAgent: 'billing' },
    });
    expect(litEdges(graphOf(event))).toEqual([['root', 'billing']]);
  });

  it('quotes names that would end a string', () => {
    const dot = graphOf(said('root', { functionCall: { name: 'a"];\nevil\\N' } }));
    expect(lines(dot, 'evil')).toEqual([
      expect.stringMatching(/^ {2}"a\\"\]; evil\\\\N" \[label="🔧 a\\"\]; evil\\\\N", /),
      expect.stringMatching(/^ {2}"root" -> "a\\"\]; evil\\\\N" \[/),
    ]);
  });
});

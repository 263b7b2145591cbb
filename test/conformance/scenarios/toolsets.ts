import type { BaseTool, ReadonlyContext } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { call, llm, say, tool } from './parts.ts';

const one = tool('one', () => ({ n: 1 }));
const two = tool('two', () => ({ n: 2 }));
const open = tool('open', (_args, { state }) => {
  state.set('open', true);
  return {};
});

type Filter = string[] | ((tool: BaseTool, context: ReadonlyContext) => boolean);

/** Makes a toolset whose number of tools depends on the state. */
const toolset = (filter: Filter, prefix?: string) => (kit: Kit) =>
  new (class extends kit.BaseToolset {
    async getTools(context?: ReadonlyContext) {
      const more = context?.state.get('open') ? [two(kit)] : [];
      // Each toolset filters its tools itself, like those of ADK.
      const all = [one(kit), open(kit), ...more];
      return context ? all.filter((each) => this.isToolSelected(each, context)) : all;
    }
    override async close() {}
  })(filter, prefix);

export const toolsetScenarios: Scenario[] = [
  {
    name: 'tools that come with the state',
    section: '§5.5',
    parts: { root: llm('root', { tools: [toolset([])] }) },
    root: 'root',
    script: { root: [call('open'), call('two'), say('ok'), call('two'), say('ok')] },
    turns: ['go', 'again'],
  },
  {
    name: 'some tools of a set',
    section: '§5.5',
    parts: { root: llm('root', { tools: [toolset(['one'])] }) },
    root: 'root',
    script: { root: [call('one'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'tools of a set that a function chooses',
    section: '§5.5',
    parts: {
      root: llm('root', {
        tools: [toolset(({ name }, { state }) => name !== 'one' || state.get('open') === true)],
      }),
    },
    root: 'root',
    script: { root: [call('open'), call('one'), say('ok')] },
    turns: ['go'],
  },
  {
    name: 'tools of a set under a prefix',
    section: '§5.5',
    differs: ['D9'],
    parts: { root: llm('root', { tools: [toolset(['one'], 'my')] }) },
    root: 'root',
    script: { root: [call('my_one'), say('ok')] },
    turns: ['go'],
  },
];
